"""Starts two children that would outlive it, one in a separate session, and writes their process ids."""

import subprocess
import sys

import wire

SLEEPER = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); print(1, flush=True); signal.pause()"


def child(**options):
    process = subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, **options)
    process.stdout.readline()
    return process.pid


def prompt(request):
    wire.say(f"{child()} {child(start_new_session=True)}")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
