"""Writes a notebook with an error, and fixes it after the finding; with the argument `never` it does not."""

import json
import sys
from pathlib import Path

import wire

FOLDERS = {}  # by session: one process has all sessions of a batch


def new(request):
    session = f"session-{len(FOLDERS) + 1}"
    FOLDERS[session] = Path(request["params"]["cwd"])
    wire.answer(request, {"sessionId": session})


def notebook(session, source, output):
    outputs = [{"output_type": "stream", "name": "stdout", "text": output}]
    cell = {
        "cell_type": "code",
        "id": "sum",
        "metadata": {},
        "source": source,
        "outputs": outputs,
        "execution_count": 1,
    }
    content = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (FOLDERS[session] / "made.ipynb").write_text(json.dumps(content))


def prompt(request):
    session, text = request["params"]["sessionId"], request["params"]["prompt"][0]["text"]
    is_told = "Found:" in text
    if is_told and "never" not in sys.argv:
        notebook(session, "numbers = [1, 2]\nprint(sum(numbers))", "3\n")
        wire.say(f"Mended: {'numbers' in text}.", session)
    else:
        notebook(session, "print(sum(numbers))", "3\n")
        wire.say("Written.", session)
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new)
