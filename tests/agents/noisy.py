"""Writes a megabyte to stderr before each answer, and a last line."""

import sys

import wire


def prompt(request):
    for _ in range(1024):
        sys.stderr.write("x" * 1023 + "\n")
    sys.stderr.write("the last line\n")
    sys.stderr.flush()
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
