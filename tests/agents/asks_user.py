"""Asks the user as the prompt says, a JSON list of `elicitation/create` parameters, and writes the answers as JSON.

A parameter `_then` is an action after the question: "complete" reports that the user has answered elsewhere, "take
back" withdraws the question (`$/cancel_request`).
"""

import json

import wire


def ask(number, params):
    then = params.pop("_then", None)
    request = {"sessionId": wire.SESSION, "message": "Well?", **params}
    wire.send({"id": number, "method": "elicitation/create", "params": request})
    if then == "complete":
        wire.send({"method": "elicitation/complete", "params": {"elicitationId": params["elicitationId"]}})
    elif then == "take back":
        wire.send({"method": "$/cancel_request", "params": {"requestId": number}})
    received, cancelled = wire.receive(), False
    while received.get("id") != number:
        cancelled = cancelled or received.get("method") == "session/cancel"
        received = wire.receive()
    wire.say(json.dumps(received.get("result", received.get("error", {}))) + "\n")
    return cancelled


def prompt(request):
    answers = [
        ask(f"e{number}", params) for number, params in enumerate(json.loads(request["params"]["prompt"][0]["text"]))
    ]
    wire.answer(request, {"stopReason": "cancelled" if any(answers) else "end_turn"})


wire.run(prompt)
