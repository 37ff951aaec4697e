"""Obeys the first word of a prompt; each prompt may come in a separate session.

``busy NAME N``: fails with ``429`` the first N times for NAME, then answers; ``die-once FILE``: exits if FILE is
missing, and makes it; ``fail``: an error; ``wait``: ends only when it is cancelled; ``wait-once FILE``:
the same if FILE is missing, and writes its process id to it; ``json-late``: text, then the JSON that the second prompt
requests; ``cost``: one dollar; ``write FILE``: writes the prompt to it;
``write-fail FILE``: the same, then an error. It echoes anything else. With ``log=FILE`` as
an argument it writes each prompt there, a line each; with ``dies-every=N`` too it exits at each Nth line there.
"""

import os
import pathlib
import sys

import wire

LOG = next((each[4:] for each in sys.argv[1:] if each.startswith("log=")), None)
DIES_EVERY = next((int(each[11:]) for each in sys.argv[1:] if each.startswith("dies-every=")), 0)
busy = {}
waiting = {}
second = set()
opened = 0


def prompt(request):  # noqa: C901, PLR0912 - one word, one behaviour
    session = request["params"]["sessionId"]
    text = "".join(each.get("text", "") for each in request["params"]["prompt"])
    word, *rest = text.split()
    if LOG:
        with pathlib.Path(LOG).open("a", encoding="utf-8") as log:
            log.write(f"{' '.join(text.split())}\n")
        if DIES_EVERY and pathlib.Path(LOG).read_bytes().count(b"\n") % DIES_EVERY == 0:
            sys.exit(3)
    match word:
        case "busy":
            name, times = rest[0], int(rest[1])
            busy[name] = busy.get(name, 0) + 1
            if busy[name] <= times:
                return wire.refuse(request, -32603, "Error 429: too many requests")
        case "die-once":
            if not pathlib.Path(rest[0]).exists():
                pathlib.Path(rest[0]).touch()
                sys.exit(3)
        case "fail":
            return wire.refuse(request, -32603, "It did not work.")
        case "wait":
            waiting[session] = request
            return None
        case "wait-once":
            if not pathlib.Path(rest[0]).exists():
                pathlib.Path(f"{rest[0]}.new").write_text(str(os.getpid()), encoding="utf-8")
                pathlib.Path(f"{rest[0]}.new").rename(rest[0])
                waiting[session] = request
                return None
        case "json-late":
            wire.say("I would rather talk.", session)
            return wire.answer(request, {"stopReason": "end_turn"})
        case "write-fail":
            pathlib.Path(rest[0]).write_text(text, encoding="utf-8")
            return wire.refuse(request, -32603, "It did not work.")
        case "write":
            pathlib.Path(rest[0]).write_text(text, encoding="utf-8")
        case "cost":
            cost = {"amount": 1.0, "currency": "USD"}
            wire.update("usage_update", session, used=10, size=100, cost=cost)
        case "That":
            wire.say('Here: ```json\n{"label": "good", "score": 3}\n```', session)
            return wire.answer(request, {"stopReason": "end_turn"})
    wire.say(f"said {text}", session)
    return wire.answer(request, {"stopReason": "end_turn"})


while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            wire.initialize(message)
        case "session/new":
            opened += 1
            wire.answer(message, {"sessionId": f"session-{opened}"})
        case "session/prompt":
            prompt(message)
        case "session/cancel":
            request = waiting.pop(message["params"]["sessionId"], None)
            if request is not None:
                wire.answer(request, {"stopReason": "cancelled"})
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
