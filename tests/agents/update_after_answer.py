"""Sends updates after it has answered the prompt."""

import wire


def prompt(request):
    wire.say("before ")
    wire.answer(request, {"stopReason": "end_turn"})
    wire.say("after")


wire.run(prompt)
