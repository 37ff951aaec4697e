"""Prints many invalid messages, before and between valid ones, and answers with ids as strings."""

import json

import wire


def prompt(request):
    wire.raw(b'Loading...\n\nnull\n[1, 2]\n42\n"text"\n{\n{}\n\xff\xfe\xfd\n')
    wire.raw(b'{"jsonrpc": "2.0", "id": 999, "result": 1}\n{"jsonrpc": "2.0", "method": 5}\n')
    content = {"type": "text", "text": "caf\N{LATIN SMALL LETTER E WITH ACUTE}"}
    params = {"sessionId": wire.SESSION, "update": {"sessionUpdate": "agent_message_chunk", "content": content}}
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})
    wire.raw(b"progress 10%" + line.encode() + b"\r\n")
    wire.raw(line.encode().replace(b"caf\\u00e9", b"\xff") + b"\n")
    wire.raw(line.encode().replace(b"caf\\u00e9", b"\\ud83d") + b"\n")
    answer = {"jsonrpc": "2.0", "id": str(request["id"]), "result": {"stopReason": "end_turn", "odd": "NAN"}}
    wire.raw(json.dumps(answer).replace('"NAN"', "NaN").encode() + b"\n")


wire.run(prompt)
