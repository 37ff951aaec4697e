"""Answers a prompt with its environment variables, as a JSON object."""

import json
import os

import wire


def prompt(request):
    wire.say(json.dumps(dict(os.environ)))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
