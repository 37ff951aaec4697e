"""Writes a word, then nothing until it is cancelled."""

import wire


def prompt(request):
    wire.say("thinking")
    while wire.receive().get("method") != "session/cancel":
        pass
    wire.answer(request, {"stopReason": "cancelled"})


wire.run(prompt)
