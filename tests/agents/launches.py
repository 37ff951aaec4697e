"""A launcher like npx: the agent is its child, has its pipes, and writes for ever after a prompt.

On SIGUSR1 the launcher exits and leaves the agent running.
"""

import os
import signal
import subprocess
import sys
from threading import Event

import wire


def prompt(_):
    wire.say(f"{os.getpid()} {os.getppid()} ")
    while True:
        wire.say(".")
        Event().wait(0.01)


if sys.argv[1:] == ["agent"]:
    wire.run(prompt)
else:
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(0))
    subprocess.Popen([sys.executable, __file__, "agent"]).wait()
