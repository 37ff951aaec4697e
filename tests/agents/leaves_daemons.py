"""Starts daemons that hide: forked twice, in a separate session, no environment, no descriptors; writes their ids.

With ``DAEMONS=many`` it starts one that keeps starting others.
"""

import os
import subprocess
import sys
from pathlib import Path

import wire

HIDE = """
import os, signal, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
told = os.open(sys.argv[1], os.O_WRONLY)
os.write(told, b"%d\\n" % os.getpid())
os.closerange(0, 100)
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
while sys.argv[2] == "many" and not signal.sigtimedwait([], 0.05):
    if os.fork() == 0:
        os.setsid()
        signal.pause()
signal.pause()
"""


def prompt(request):
    pipe = Path("told").resolve()  # the full path in a daemon's command line identifies its owner
    os.mkfifo(pipe)
    kind = os.environ.get("DAEMONS", "one")
    subprocess.run([sys.executable, "-I", "-S", "-c", HIDE, os.fspath(pipe), kind], env={}, check=True)
    wire.say(pipe.read_text().strip())
    pipe.unlink()
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
