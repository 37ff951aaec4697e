"""JSON-RPC over this process's stdin and stdout, and lines for people."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from agentnb.acp.stdio import Output, read_input
from agentnb.rpc_message import Lines, encode, repair_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.rpc_message import RpcMessage


class Stdio:
    """Reads and writes messages."""

    def __init__(self, source: int = 0, sink: int = 1) -> None:
        self._source = source
        self._sink = sink
        self._output: Output | None = None

    async def serve(self, on_message: Callable[[RpcMessage], None]) -> None:
        """Hand over each message as it comes, until there are no more."""
        self._output = Output(sink=self._sink, name="agentnb-replay-write")
        ended = asyncio.get_running_loop().create_future()
        lines = Lines()

        def take(data: bytes) -> None:
            for message in repair_messages(lines.feed(data) if data else lines.rest()):
                on_message(message)
            if not data and not ended.done():
                ended.set_result(None)

        read_input(take, source=self._source, name="agentnb-replay-read")
        await ended

    def send(self, messages: Iterable[dict[str, Any]]) -> None:
        """Write *messages* at once."""
        data = b"".join(Lines.frame(encode({"jsonrpc": "2.0", **message})) for message in messages)
        if data and self._output is not None:
            self._output.write(data)

    def flush(self) -> None:
        """Wait until everything is written, or nobody reads it."""
        if self._output is not None:
            self._output.finish()


def say(text: str) -> None:
    """A line for people."""
    sys.stderr.write(f"agentnb: {text}\n")
    sys.stderr.flush()
