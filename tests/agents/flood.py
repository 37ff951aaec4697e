"""Answers with as many chunks as the prompt says, at full speed."""

import json

import wire


def prompt(request):
    count = int(request["params"]["prompt"][0]["text"])
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word "}}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": wire.SESSION, "update": chunk}}
    block = (json.dumps(message) + "\n").encode() * 500
    for _ in range(count // 500):
        wire.raw(block)
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
