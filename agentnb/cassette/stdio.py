"""JSON-RPC over this process's stdin and stdout, whatever they are: pipes, files, terminals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any

from agentnb.acp import wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CHUNK = 256 * 1024


class Stdio:
    """Reads and writes on threads of its own, so that neither side can stop the other.

    Args:
        source: The descriptor to read.
        sink: The descriptor to write.
    """

    def __init__(self, source: int = 0, sink: int = 1) -> None:
        self._source = source
        self._sink = sink
        self._out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, daemon=True, name="agentnb-replay-write")

    async def serve(self, on_message: Callable[[wire.Message], None]) -> None:
        """Hand over each message as it comes, until there are no more."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        lines = wire.Lines()

        def take(data: bytes) -> None:
            block = lines.feed(data) if data else lines.rest()
            if block:
                for message in wire.decode(block)[0]:
                    on_message(message)
            if not data and not ended.done():
                ended.set_result(None)

        def read_all() -> None:
            data = b"-"
            while data:
                try:
                    data = os.read(self._source, CHUNK)
                except OSError:
                    data = b""
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(take, data)

        self._writer.start()
        threading.Thread(target=read_all, daemon=True, name="agentnb-replay-read").start()
        await ended

    def send(self, messages: Iterable[dict[str, Any]]) -> None:
        """Write *messages* at once."""
        data = b"".join(wire.encode({"jsonrpc": "2.0", **message}) for message in messages)
        if data:
            self._out.put(data)

    def flush(self) -> None:
        """Wait until everything is written, or nobody reads it."""
        self._out.put(None)
        if self._writer.is_alive():
            self._writer.join(5)

    def _write_all(self) -> None:
        while (data := self._out.get()) is not None:
            view = memoryview(data)
            while view:
                try:
                    view = view[os.write(self._sink, view) :]
                except OSError:
                    return


def say(text: str) -> None:
    """A line for people."""
    sys.stderr.write(f"agentnb: {text}\n")
    sys.stderr.flush()
