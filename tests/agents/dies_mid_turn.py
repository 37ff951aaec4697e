"""Exits in the middle of an answer."""

import os
import sys

import wire


def prompt(_):
    wire.say("I was about to")
    sys.stderr.write("out of memory\n")
    sys.stderr.flush()
    os._exit(7)


wire.run(prompt)
