"""Sends the JSON list of updates in the prompt without asking, as agents do in a mode that accepts everything."""

import json

import wire


def prompt(request):
    for update in json.loads(request["params"]["prompt"][0]["text"]):
        wire.update(update.pop("sessionUpdate", "tool_call"), **update)
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
