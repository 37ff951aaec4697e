"""Ignores the end of its stdin and the termination signal."""

import signal

import wire


def prompt(request):
    wire.answer(request, {"stopReason": "end_turn"})


signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    wire.run(prompt)
except SystemExit:
    while True:
        signal.pause()
