"""Writes a JSON list with the type of each prompt block, and its media type, address or text."""

import json
import sys

import wire

sessions = iter(range(1, 1000))


def kind(block):
    inner = block.get("resource", block)
    return [block["type"], inner.get("mimeType") or inner.get("uri") or inner.get("text", "")[:40]]


def prompt(request):
    params = request["params"]
    wire.say(json.dumps([kind(block) for block in params["prompt"][1:]]), params["sessionId"])
    wire.answer(request, {"stopReason": "end_turn"})


def new(request):
    wire.answer(request, {"sessionId": f"session-{next(sessions)}"})


wire.run(prompt, new, **({"promptCapabilities": json.loads(sys.argv[1])} if sys.argv[1:] else {}))
