"""Echoes the prompt."""

import wire


def prompt(request):
    for block in request["params"]["prompt"]:
        wire.say(block.get("text", ""))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
