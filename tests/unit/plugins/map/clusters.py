"""Workers of a Dask cluster, each in a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def worker_of(cluster: Any, *options: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a worker process that joins *cluster*, with more variables."""
    words = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    words += ["--no-nanny", "--nthreads", "4", "--no-dashboard", *options]
    env = {**os.environ, **environment}
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def until(is_so: Callable[[], bool]) -> None:
    """Blocks until *is_so* returns true."""
    look = threading.Event()
    while not is_so():
        look.wait(0.01)
