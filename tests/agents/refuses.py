"""Answers every prompt with an error that contains its key."""

import os

import wire


def prompt(request):
    key = os.environ.get("SCRIPTED_API_KEY", "none")
    wire.refuse(request, -32603, "Internal error", {"details": f"the model does not like key {key}"})


wire.run(prompt)
