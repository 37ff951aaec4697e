"""Ignores that its stdin is closed and that it is asked to terminate."""

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
