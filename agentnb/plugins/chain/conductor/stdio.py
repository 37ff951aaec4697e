"""The conductor as a program; its client, or the conductor above it, is connected to its stdin and stdout."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from agentnb.acp.peer import Output, read_input, watch_reader
from agentnb.command import FAILED, OK
from agentnb.errors import AgentnbError
from agentnb.plugins.chain.conductor.chain import INITIALIZE, ChainFailure, ChainPlace
from agentnb.plugins.chain.conductor.process_place import ENVELOPES, INITIALIZE_METHODS, enveloped, read_envelope
from agentnb.plugins.chain.conductor.raw_message import RawMessage, read_line, refusal
from agentnb.plugins.chain.conductor.running_chain import ClientPlace, RunningChain
from agentnb.rpc_message import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.plugins.chain.conductor.chain import Way
    from agentnb.plugins.chain.conductor.running_chain import Entry

STOP_SECONDS = 1.0


class Successor(ChainPlace):
    """The place after the last component, when this conductor is itself a component: its own conductor provides it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        super().__init__("the successor")
        self._send = write
        self.envelope = "_proxy/successor"

    def take(self, message: RawMessage, way: Way) -> None:
        del way
        self._send(enveloped(message, self.envelope).line())

    def answer(self, message: RawMessage) -> None:
        self._send(message.line())


class ConductorProgram:
    def __init__(self, components: Sequence[Entry], agent: AgentSpec | None, *, patience: float) -> None:
        self._output = Output(self._client_full, name="agentnb-conductor-write")
        self._client = ClientPlace(self._output.write)
        self._patience = patience
        self._left = asyncio.Event()
        self._unread = asyncio.Event()
        self._failure: asyncio.Future[ChainFailure] = asyncio.get_running_loop().create_future()
        last = agent or Successor(self._output.write)
        self._last = last if isinstance(last, Successor) else None
        self._running = RunningChain(self._client, components, last, self._failed, patience=patience)
        self._chain = self._running.chain

    async def run(self, cwd: Path) -> int:
        """Carry messages until the client or the chain ends."""
        try:
            await self._running.start(cwd)
        except AgentnbError as error:
            _say(str(error))
            self._output.finish()
            return FAILED
        read_input(self._receive, name="agentnb-conductor-read")
        left = asyncio.ensure_future(self._client_left())
        ends: set[asyncio.Future[Any]] = {self._failure, left}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        if self._failure.done():
            self._tell(self._failure.result())
        await self._running.stop(STOP_SECONDS)
        self._client.flush()
        self._output.finish()
        return FAILED if self._failure.done() else OK

    async def _client_left(self) -> None:
        """Wait until the client's side is closed, and it has read the remaining output or has closed its end."""
        await self._left.wait()
        watch_reader(self._unread.set)
        unread, rest = asyncio.ensure_future(self._unread.wait()), asyncio.ensure_future(self._say_the_rest())
        try:
            await asyncio.wait({unread, rest}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            unread.cancel()
            rest.cancel()

    async def _say_the_rest(self) -> None:
        """Wait for the answers to the client's requests, then for pending messages."""
        if self._last is None:  # otherwise the agent, which would answer, has gone too
            await self._chain.until_answered(self._patience)
        await self._chain.finish(len(self._chain.places))

    def _tell(self, failure: ChainFailure) -> None:
        _say(failure.message)
        error = RpcError(INTERNAL_ERROR, failure.message, {"component": failure.name})
        for unanswered in failure.unanswered:
            self._output.write(refusal(unanswered, error).line())

    def _failed(self, failure: ChainFailure) -> None:
        self._client.flush()
        self._failure.set_result(failure)

    def _client_full(self, is_full: bool) -> None:
        self._chain.full(0, is_full=is_full)

    def _receive(self, data: bytes) -> None:
        if not data:
            self._left.set()
            return
        try:
            self._client.receive(data, self._take if self._last is not None else None)
        except AgentnbError as error:
            self._chain.fail(0, f"The client wrote what cannot be read. {error}")

    def _take(self, line: bytes) -> None:
        """Take a line from the conductor above: from the client, or in an envelope from the successor."""
        message, last = read_line(line), self._last
        if message is None or last is None:
            self._chain.stray(0, "wrote a line that is not a message")
        elif message.is_answer:
            self._chain.answered(self._chain.asked_of(message.id), message)
        elif message.method in ENVELOPES:
            inner = read_envelope(message)
            if inner is not None:
                self._chain.send(last.index, -1, RawMessage(method=inner.method, id=message.id, params=inner.params))
        elif message.method in INITIALIZE_METHODS[:2]:
            last.envelope = message.method.replace(INITIALIZE, "successor")
            self._chain.send(0, 1, RawMessage(method=INITIALIZE, id=message.id, params=message.params))
        else:
            self._chain.send(0, 1, message)


def _say(text: str) -> None:
    sys.stderr.write(f"agentnb conductor: {text}\n")
    sys.stderr.flush()
