"""Cells and the sidebar's second shell ask for the kernel's one front end at the same moment."""

from __future__ import annotations

import subprocess
import sys

ASKING = """
import sys, threading
from agentnb.server.comm.frontend import current_frontend

sys.setswitchinterval(1e-6)
together, got = threading.Barrier(16), []

def ask():
    together.wait()
    got.append(current_frontend())

threads = [threading.Thread(target=ask) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(got), len({id(each) for each in got}))
"""


def test_concurrent_threads_share_one_front_end() -> None:
    """A second front end would have a model that no page knows."""
    done = subprocess.run([sys.executable, "-c", ASKING], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["16", "1"]
