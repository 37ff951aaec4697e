"""Asks permission, withdraws the request, and writes the error code that it gets."""

import wire

OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]


def prompt(request):
    params = {"sessionId": wire.SESSION, "toolCall": {"toolCallId": "call-1"}, "options": OPTIONS}
    wire.send({"id": 5, "method": "session/request_permission", "params": params})
    wire.send({"method": "$/cancel_request", "params": {"requestId": 5}})
    wire.say(str(wire.receive()["error"]["code"]))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
