"""Writes so many words (`12`) and exits at once; for `12 answered` it answers first."""

import os
import sys

import wire


def prompt(request):
    count, *rest = request["params"]["prompt"][0]["text"].split()
    for number in range(int(count)):
        wire.say(f"{number} ")
    if rest:
        wire.answer(request, {"stopReason": "end_turn"})
    sys.stdout.flush()
    os._exit(7)


wire.run(prompt)
