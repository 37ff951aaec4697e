"""Spends as a prompt says, and reports it: steps separated by semicolons.

``tokens READ WRITTEN``: reported at the end of the turn; ``cost AMOUNT``: so much more; ``context TOKENS``: so
many in the context, and read; ``wait``: until the turn is cancelled; ``deaf``: not even then; ``look FILE``: until
the file exists. In the end it writes what it did. The argument ``currency=EUR`` sets the currency; with ``silent`` it
reports nothing.
"""

import pathlib
import sys
import threading

import wire

CURRENCY = next((each[9:] for each in sys.argv[1:] if each.startswith("currency=")), "USD")
SILENT = "silent" in sys.argv[1:]
costs = {}
used = {}
cancelled = {}
opened = 0
lock = threading.Lock()


def report(session):
    if not SILENT:
        with lock:
            cost = {"amount": costs.get(session, 0.0), "currency": CURRENCY}
            wire.update("usage_update", session, used=used.get(session, 0), size=1_000_000, cost=cost)


def prompt(request):
    session = request["params"]["sessionId"]
    text = request["params"]["prompt"][0]["text"]
    stop, tokens = threading.Event(), [0, 0]
    cancelled[session] = stop
    done = []
    steps = text.split(";")
    for number, step in enumerate(steps, 1):
        done.append(step)
        word, *rest = step.split() or [""]
        if word == "tokens":
            tokens = [tokens[0] + int(rest[0]), tokens[1] + int(rest[1])]
        elif word == "cost":
            costs[session] = costs.get(session, 0.0) + float(rest[0])
            report(session)
        elif word == "context":
            used[session] = tokens[0] = int(rest[0])
            report(session)
        elif word == "look":
            while not pathlib.Path(rest[0]).exists() and not stop.wait(0.01):
                pass
        elif word == "wait":
            stop.wait()
        elif word == "deaf":
            threading.Event().wait()
        if stop.is_set() and steps[number : number + 1] != ["wait"]:  # the same answer for every moment of a cancel
            break
    with lock:
        wire.say(f"went on: {text}" if text.startswith("The user") else f"did {';'.join(done)}", session)
        usage = {"inputTokens": tokens[0], "outputTokens": tokens[1], "totalTokens": sum(tokens)}
        reason = "cancelled" if stop.is_set() else "end_turn"
        wire.answer(request, {"stopReason": reason, **({} if SILENT else {"usage": usage})})


while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            wire.initialize(message)
        case "session/new":
            opened += 1
            wire.answer(message, {"sessionId": f"session-{opened}"})
        case "session/prompt":
            threading.Thread(target=prompt, args=[message], daemon=True).start()
        case "session/cancel":
            cancelled[message["params"]["sessionId"]].set()
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
