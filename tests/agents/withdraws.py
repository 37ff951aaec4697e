"""Asks permission, withdraws the request once the pipe `go` says so, and ends the turn only when it is stopped."""

from pathlib import Path

import wire

OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]


def prompt(request):
    params = {"sessionId": wire.SESSION, "toolCall": {"toolCallId": "call-1"}, "options": OPTIONS}
    wire.send({"id": 5, "method": "session/request_permission", "params": params})
    Path("go").read_bytes()
    wire.send({"method": "$/cancel_request", "params": {"requestId": 5}})
    wire.receive()
    wire.say("withdrawn")
    wire.receive()
    wire.answer(request, {"stopReason": "cancelled"})


wire.run(prompt)
