"""Dies or hangs at one step of the protocol: ``fails.py dies|hangs STEP``.

STEP is a method (``initialize``, ``session/new``, …), or ``start``, ``turn`` (after a word), ``question``
(with an open permission request) or ``cancel`` (when it gets one). It is normal otherwise; for ``authenticate``
it requires a login, for ``session/set_model`` it has legacy models.
"""

import sys
import threading

import wire

HOW, STEP = sys.argv[1:3]


def fail():
    if HOW == "dies":
        print(f"could not go on at {STEP}", file=sys.stderr, flush=True)
        sys.exit(9)
    threading.Event().wait()


def reach(step):
    if step == STEP:
        fail()


def prompt(request):
    wire.say("a word ")
    reach("turn")
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    params = {"sessionId": wire.SESSION, "toolCall": {"toolCallId": "c1", "title": "dig"}, "options": [option]}
    wire.send({"id": "q1", "method": "session/request_permission", "params": params})
    reach("question")
    while True:
        received = wire.receive()
        if received.get("method") == "session/cancel":
            reach("cancel")
        elif received.get("id") == "q1":
            outcome = received["result"]["outcome"]["outcome"]
            break
    wire.say(outcome)
    wire.answer(request, {"stopReason": "cancelled" if outcome == "cancelled" else "end_turn"})


reach("start")
while True:
    message = wire.receive()
    reach(message.get("method"))
    match message.get("method"):
        case "initialize":
            able = {"resume": {}, "close": {}, "list": {}, "fork": {}, "delete": {}}
            offers = {"loadSession": True, "sessionCapabilities": able, "auth": {"logout": {}}}
            ways = [{"id": "browser", "name": "Browser"}]
            wire.answer(message, {"protocolVersion": 1, "agentCapabilities": offers, "authMethods": ways})
        case "session/new" if STEP == "authenticate":
            wire.refuse(message, -32000, "Authentication required")
        case "session/new":
            modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}
            models = {"currentModelId": "a", "availableModels": [{"modelId": name, "name": name} for name in "ab"]}
            option = {"id": "model", "name": "Model", "type": "select", "currentValue": "a"}
            option["options"] = [{"value": value, "name": value} for value in "ab"]
            chosen = {"models": models} if STEP == "session/set_model" else {"configOptions": [option]}
            wire.answer(message, {"sessionId": wire.SESSION, "modes": modes, **chosen})
        case "session/prompt":
            prompt(message)
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
