"""Asks to run a command, "runs" it until the workspace's pipe is closed, and asks to run a similar one."""

import pathlib

import wire

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def is_allowed(call_id, command):
    call = {"toolCallId": call_id, "title": command, "kind": "execute", "rawInput": {"command": command}}
    params = {"sessionId": wire.SESSION, "toolCall": call, "options": OPTIONS}
    wire.send({"id": call_id, "method": "session/request_permission", "params": params})
    return wire.receive()["result"]["outcome"].get("optionId") == "yes"


def prompt(request):
    folder = pathlib.Path(request["params"]["prompt"][0]["text"])
    assert is_allowed("first", "cat a")
    wire.update("tool_call_update", toolCallId="first", status="in_progress")
    (folder / "pipe").read_bytes()
    wire.update("tool_call_update", toolCallId="first", status="completed")
    wire.say("ended, then " + ("allowed" if is_allowed("second", "cat b") else "refused"))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
