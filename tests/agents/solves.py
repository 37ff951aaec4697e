"""Handles each prompt as a JSON file (its argument) says: a mapping of prompts to actions.

``files``: texts that it writes, by path; ``answer``: its answer; ``spends``: tokens, and money in dollars; ``asks``:
a command that it asks permission for, and how often; ``looks``: paths, for which it reports if it can read them;
``end``: ``"crash"`` or ``"hang"``.
"""

import json
import sys
from pathlib import Path

import wire

FOLDER = []
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def new(request):
    FOLDER.append(Path(request["params"]["cwd"]))
    wire.answer(request, {"sessionId": wire.SESSION})


def ask(command, number):
    call = {"toolCallId": f"ask-{number}", "title": command, "kind": "execute", "rawInput": {"command": command}}
    wire.update("tool_call", **call, status="pending")
    reply = wire.request("session/request_permission", sessionId=wire.SESSION, toolCall=call, options=OPTIONS)
    wire.say(f"{reply['result']['outcome'].get('optionId')}\n")
    wire.update("tool_call_update", toolCallId=f"ask-{number}", status="completed")


def look(path):
    try:
        wire.say(f"{len(Path(path).read_bytes())} bytes\n")
    except OSError as error:
        wire.say(f"{type(error).__name__}\n")


def prompt(request):
    text = "".join(block.get("text", "") for block in request["params"]["prompt"])
    known = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    todo = known.get(text.strip(), {"answer": "I do not know."})
    for name, content in todo.get("files", {}).items():
        path = FOLDER[-1] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    command, times = todo.get("asks", ["", 0])
    for number in range(times):
        ask(command, number)
    for path in todo.get("looks", ()):
        look(path)
    wire.say(todo.get("answer", ""))
    result = {"stopReason": "end_turn"}
    if spent := todo.get("spends"):
        tokens, dollars = spent
        wire.update("usage_update", used=tokens, size=100_000, cost={"amount": dollars, "currency": "USD"})
        result["usage"] = {"inputTokens": tokens - 1, "outputTokens": 1, "totalTokens": tokens}
    if todo.get("end") == "crash":
        sys.exit(3)
    while todo.get("end") == "hang" and wire.receive().get("method") != "session/cancel":
        pass
    wire.answer(request, result)


wire.run(prompt, new)
