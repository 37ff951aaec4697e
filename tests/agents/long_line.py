"""Answers with one chunk of as many MiB as the prompt says, in one line."""

import wire


def prompt(request):
    wire.say("0123456789abcdef" * 65536 * int(request["params"]["prompt"][0]["text"]))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
