"""This process's stdin and stdout, whatever they are: pipes, files, terminals. Each has a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 256 * 1024
FULL = 1024 * 1024
"""How many bytes may wait for a reader that does not read, before it counts as full, in bytes."""
_FINISH_SECONDS = 5.0


class Output:
    """Writes on a thread of its own, so that who does not read stops only what is read for him."""

    def __init__(
        self, on_full: Callable[[bool], None] = lambda _: None, *, sink: int = 1, name: str = "agentnb-write"
    ) -> None:
        self._sink = sink
        self._on_full = on_full
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._is_full = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write_all, daemon=True, name=name)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Write *data* as soon as it can be."""
        with self._lock:
            self._waiting += len(data)
            if becomes := self._waiting > FULL and not self._is_full:
                self._is_full = True
        self._queue.put(data)
        if becomes:
            self._on_full(True)

    def finish(self) -> None:
        """Wait until all is written or nobody reads it, for five seconds at most."""
        self._queue.put(None)
        self._thread.join(_FINISH_SECONDS)

    def _write_all(self) -> None:
        while (data := self._queue.get()) is not None:
            view = memoryview(data)
            while view:
                try:
                    view = view[os.write(self._sink, view) :]
                except OSError:
                    return
            with self._lock:
                self._waiting -= len(data)
                if drained := self._is_full and self._waiting <= FULL // 4:
                    self._is_full = False
            if drained:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self._loop.call_soon_threadsafe(self._on_full, False)


def read_input(take: Callable[[bytes], None], *, source: int = 0, name: str = "agentnb-read") -> None:
    """Read on a thread of its own, as long as there is something."""
    loop = asyncio.get_running_loop()

    def read_all() -> None:
        data = b"-"
        while data:
            try:
                data = os.read(source, CHUNK)
            except OSError:
                data = b""
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(take, data)

    threading.Thread(target=read_all, daemon=True, name=name).start()


def watch_reader(gone: Callable[[], None], *, sink: int = 1, name: str = "agentnb-watch") -> None:
    """Look, on a thread of its own, whether somebody can still read what is written."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        poll = select.poll()
        poll.register(sink, 0)
        poll.poll()
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(gone)

    if hasattr(select, "poll"):
        threading.Thread(target=wait, daemon=True, name=name).start()
