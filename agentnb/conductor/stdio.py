"""The conductor as a program: its client, or its own conductor, is at its stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING

from agentnb.acp.failure import INTERNAL_ERROR, RpcError
from agentnb.conductor.chain import INITIALIZE, PATIENCE, Chain, Failure, Place
from agentnb.conductor.process_place import ENVELOPES, INITIALIZE_METHODS, Envelope, read_envelope
from agentnb.conductor.rpc_message import RpcMessage, encoded, read_line, refusal
from agentnb.conductor.running_chain import ClientPlace, RunningChain
from agentnb.errors import AgentnbError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.conductor.chain import Way
    from agentnb.conductor.running_chain import Entry

CHUNK = 256 * 1024
FULL = 1024 * 1024
"""How many bytes may wait for a client that does not read, before nothing more is read from the agent, in bytes."""
PATIENT_STOP = 2.5
OK, FAILED = 0, 1


class Output:
    """Writes on a thread of its own, so that a client that does not read stops only what is read for it.

    Args:
        on_full: Called on the loop with True when much waits to be written, with False when it is written.
        sink: The descriptor to write to.
    """

    def __init__(self, on_full: Callable[[bool], None], sink: int = 1) -> None:
        self._sink = sink
        self._on_full = on_full
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._is_full = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write_all, daemon=True, name="agentnb-conductor-write")
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
        """Wait until all is written, for five seconds at most."""
        self._queue.put(None)
        self._thread.join(5)

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


class Successor(Place):
    """The place after the last component of a conductor that is a component itself: its own conductor has it.

    Args:
        write: Takes lines for the conductor above.
    """

    def __init__(self, write: Callable[[bytes], None]) -> None:
        super().__init__("the successor")
        self._send = write
        self.envelope = "_proxy/successor"

    def take(self, message: RpcMessage, way: Way) -> None:
        """See :meth:`Place.take`."""
        del way
        if message.method != "$/cancel_request":
            params = encoded(Envelope(message.method, message.params or encoded({})))
            message = RpcMessage(method=self.envelope, id=message.id, params=params)
        self._send(message.line())

    def answer(self, message: RpcMessage) -> None:
        """See :meth:`Place.answer`."""
        self._send(message.line())


class ConductorProgram:
    """One run of the conductor.

    Args:
        components: The components, the first one next to the client.
        agent: How the agent is started; None for a conductor that is a component itself.
        patience: Seconds that a component may hold a request without a sign of life.
    """

    def __init__(self, components: Sequence[Entry], agent: AgentSpec | None, *, patience: float = PATIENCE) -> None:
        self._output = Output(self._client_full)
        self._client = ClientPlace(self._output.write)
        self._ended: asyncio.Future[Failure | None] = asyncio.get_running_loop().create_future()
        last = agent or Successor(self._output.write)
        self._last = last if isinstance(last, Successor) else None
        self._running = RunningChain(self._client, components, last, self._failed, patience=patience)

    async def run(self, cwd: Path) -> int:
        """Carry messages until the client or the chain ends.

        Returns:
            The exit code: 0 where the client left, 1 where a component or the agent failed.
        """
        try:
            await self._running.start(cwd)
        except AgentnbError as error:
            _say(str(error))
            self._output.finish()
            return FAILED
        threading.Thread(target=self._read_all, daemon=True, name="agentnb-conductor-read").start()
        failure = await self._ended
        if failure is not None:
            _say(failure.message)
            told = RpcError(INTERNAL_ERROR, failure.message, {"component": failure.name}).to_json()
            for unanswered in failure.unanswered:
                self._output.write(refusal(unanswered, told).line())
        self._client.flush()
        await self._running.stop(PATIENT_STOP)
        self._client.flush()
        self._output.finish()
        return OK if failure is None else FAILED

    @property
    def _chain(self) -> Chain:
        return self._running.chain

    def _failed(self, failure: Failure) -> None:
        self._client.flush()
        if not self._ended.done():
            self._ended.set_result(failure)

    def _client_full(self, is_full: bool) -> None:
        self._chain.full(0, is_full=is_full)

    def _read_all(self) -> None:
        loop = self._chain.loop
        data = b"-"
        while data:
            try:
                data = os.read(0, CHUNK)
            except OSError:
                data = b""
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._receive, data)

    def _receive(self, data: bytes) -> None:
        if not data:
            if not self._ended.done():
                self._ended.set_result(None)
            return
        try:
            self._client.receive(data, self._take if self._last is not None else None)
        except AgentnbError as error:
            self._chain.fail(0, f"The client wrote what cannot be read. {error}")

    def _take(self, line: bytes) -> None:
        """Take a line of the conductor above: from the client, or in an envelope from the successor."""
        message, last = read_line(line), self._last
        if message is None or last is None:
            self._chain.stray(0, "wrote a line that is no message")
        elif message.is_answer:
            self._chain.answered(self._chain.asked_of(message.id), message)
        elif message.method in ENVELOPES:
            inner = read_envelope(message)
            if inner is not None:
                self._chain.send(last.index, -1, RpcMessage(method=inner.method, id=message.id, params=inner.params))
        elif message.method in INITIALIZE_METHODS[:2]:
            last.envelope = message.method.replace(INITIALIZE, "successor")
            self._chain.send(0, 1, RpcMessage(method=INITIALIZE, id=message.id, params=message.params))
        else:
            self._chain.send(0, 1, message)


def _say(text: str) -> None:
    sys.stderr.write(f"agentnb conductor: {text}\n")
    sys.stderr.flush()
