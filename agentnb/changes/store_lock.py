"""Locks of a store: one kernel at a time changes it, and whoever uses it can be seen to be alive."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING

from agentnb.errors import ChangesUnavailable
from agentnb.file_lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_AGAIN_SECONDS = 0.02


class StoreLock:
    """A lock that holds between threads and between processes; a killed process lets it go."""

    def __init__(self, path: Path, *, seconds: float) -> None:
        self._path = path
        self._seconds = seconds
        self._thread = threading.RLock()
        self._is_held = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock."""
        if not self._thread.acquire(timeout=self._seconds):
            raise self._busy()
        try:
            if self._is_held:  # by this thread
                yield
                return
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                self._wait_for(descriptor)
                self._is_held = True
                yield
            finally:
                self._is_held = False
                os.close(descriptor)
        finally:
            self._thread.release()

    def _wait_for(self, descriptor: int) -> None:
        until = time.monotonic() + self._seconds
        pause = threading.Event()
        while not try_lock(descriptor):
            if time.monotonic() > until:
                raise self._busy()
            pause.wait(_AGAIN_SECONDS)

    def _busy(self) -> ChangesUnavailable:
        message = f"Another kernel has used the store of changes {self._path.parent} for {self._seconds:.0f} seconds."
        return ChangesUnavailable(message, hint="Try again when it is done.")
