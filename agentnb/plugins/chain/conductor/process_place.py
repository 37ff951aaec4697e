"""A place in the chain that is a program: a component or the agent, connected by its stdin and stdout.

A component gets messages from above as plain ACP, and messages from below in an envelope. A message that it sends in an
envelope goes down; all others go up. The envelope has three forms, the newest first; a component gets the form that it
uses itself:

- ``proxy/successor`` and ``proxy/initialize``, as in the request for discussion;
- ``_proxy/successor`` and ``_proxy/initialize``, as in the Rust SDK's conductor;
- ``_proxy/successor/request`` and ``_proxy/successor/notification``, with ``initialize`` and ``_meta.proxy``, as in
  earlier versions of that conductor.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec

from agentnb.agent.process import SpawnedAgent
from agentnb.errors import AgentError, ProtocolError
from agentnb.plugins.chain.conductor.chain import CANCEL, DOWN, INITIALIZE, QUIET_SECONDS, UP, ChainPlace, sentence
from agentnb.plugins.chain.conductor.raw_message import (
    EMPTY,
    NO_ID,
    RawMessage,
    are_updates,
    encoded,
    read_line,
    refusal,
)
from agentnb.rpc_message import INVALID_PARAMS, Lines, RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.confinement import Confine
    from agentnb.plugins.chain.conductor.chain import Way

ENVELOPES = {"proxy/successor", "_proxy/successor", "_proxy/successor/request", "_proxy/successor/notification"}
INITIALIZE_METHODS = ("proxy/initialize", "_proxy/initialize", INITIALIZE)
UNREAD_LIMIT = 64 * 1024 * 1024
"""Bytes that a program may leave unread before the chain ends."""
_EXIT_SECONDS = 0.3


class ProxyEnvelope(msgspec.Struct):
    """The parameters of a message to or from the successor."""

    method: str
    params: msgspec.Raw = EMPTY


_envelopes = msgspec.json.Decoder(ProxyEnvelope)


def read_envelope(message: RawMessage) -> ProxyEnvelope | None:
    try:
        return _envelopes.decode(message.params)
    except msgspec.MsgspecError:
        return None


def enveloped(message: RawMessage, method: str) -> RawMessage:
    """Returns *message* in an envelope, a message called *method*."""
    if message.method == CANCEL:  # concerns only this connection: its id belongs to it
        return message
    params = encoded(ProxyEnvelope(message.method, message.params or encoded({})))
    return RawMessage(method=method, id=message.id, params=params)


class ProcessPlace(ChainPlace):
    def __init__(self, spec: AgentSpec, name: str) -> None:
        super().__init__(name)
        self.spec = spec
        self.process: SpawnedAgent | None = None
        self.ended: asyncio.Event = asyncio.Event()
        self._lines = Lines()
        self._prefix = "_proxy/"
        self._is_old = False
        self._stopping = False
        self._paused = False
        self._reads = 0
        self._dying: asyncio.Task[None] | None = None
        self._ended_at_start = False

    async def spawn(self, cwd: Path, env: Mapping[str, str] | None = None, confine: Confine | None = None) -> None:
        try:
            self.process = await SpawnedAgent.spawn(
                self.spec, cwd, env, on_output=self._received, on_end=self._output_ended, confine=confine
            )
        except AgentError as error:
            raise type(error)(sentence(f"{self.name} cannot be started. {error.message}"), hint=error.hint) from error
        self.process.child.on_full = lambda is_full: self.chain.full(self.index, is_full=is_full)
        if self._ended_at_start:
            self._output_ended()

    async def stop(self, patience: float) -> None:
        """End the program and everything it started."""
        self._stopping = True
        if self.process is not None:
            await self.process.stop(patience)

    async def finish(self, deadline: float) -> None:
        """See :meth:`ChainPlace.finish`: closes stdin, and reads the output until it ends or is silent."""
        if self.process is None:
            return
        self.process.child.close_stdin()
        while not self.ended.is_set() and (left := deadline - self.chain.loop.time()) > 0:
            reads = self._reads
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.ended.wait(), min(QUIET_SECONDS, left))
            if not self._paused and self._reads == reads:
                break

    def pause(self) -> None:
        self._paused = True
        if self.process is not None:
            self.process.child.pause()

    def resume(self) -> None:
        self._paused = False
        if self.process is not None:
            self.process.child.resume()

    def initialize_methods(self) -> tuple[str, ...]:
        return INITIALIZE_METHODS if self.is_component else (INITIALIZE,)

    def take(self, message: RawMessage, way: Way) -> None:
        if way == UP:
            self._write(enveloped(message, self._envelope(message)))
            return
        if self.is_component and message.method in INITIALIZE_METHODS:
            self._is_old = message.method == INITIALIZE
            if self._is_old:
                params = message.read_params()
                params["_meta"] = {**(params.get("_meta") or {}), "proxy": True}
                message = RawMessage(method=message.method, id=message.id, params=encoded(params))
            else:
                self._prefix = message.method.removesuffix(INITIALIZE)
        self._write(message)

    def answer(self, message: RawMessage) -> None:
        self._write(message)

    def answered(self, message: RawMessage) -> None:
        self.chain.answered(self.index, message)

    def _envelope(self, message: RawMessage) -> str:
        if self._is_old:
            return "_proxy/successor/notification" if message.id is NO_ID else "_proxy/successor/request"
        return f"{self._prefix}successor"

    def _write(self, message: RawMessage) -> None:
        if self.process is None:
            return
        self.process.write(message.line())
        if self.process.child.unwritten > UNREAD_LIMIT:
            self.chain.fail(self.index, sentence(f"{self.name} has stopped reading what it is sent."))

    def _received(self, data: bytes) -> None:
        self._reads += 1
        try:
            lines = self._lines.feed(data)
        except ProtocolError:
            self.chain.fail(self.index, sentence(f"{self.name} wrote a line that is too long to be read."))
            return
        if are_updates(lines) and self.chain.send_updates(self.index, b"\n".join((*lines, b""))):
            return
        for line in lines:
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        message = read_line(line)
        if message is None:
            self.chain.stray(self.index, "wrote a line that is not a message")
        elif message.is_answer:
            self.answered(message)
        elif message.method in ENVELOPES and self.is_component:
            self._send_down(message)
        else:
            self.chain.send(self.index, UP, message)

    def _send_down(self, message: RawMessage) -> None:
        inner = read_envelope(message)
        if inner is None:
            why = sentence(f"{self.name} sent its successor something without a method.")
            if message.is_request:
                self.answer(refusal(message.id, RpcError(INVALID_PARAMS, why)))
            else:
                self.chain.stray(self.index, "sent its successor something without a method")
            return
        self._is_old = message.method not in {"proxy/successor", "_proxy/successor"}
        if not self._is_old:
            self._prefix = message.method.removesuffix("successor")
        self.chain.send(self.index, DOWN, RawMessage(method=inner.method, id=message.id, params=inner.params))

    def _output_ended(self) -> None:
        if self.process is None:  # the process ended before its start was complete
            self._ended_at_start = True
            return
        self._dying = asyncio.ensure_future(self._die(self.process))

    async def _die(self, process: SpawnedAgent) -> None:
        """The program closed its output or ended: wait briefly for its exit code, then report it."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(process.child.exited.wait(), _EXIT_SECONDS)
        if process.child.over:
            await process.child.exited.wait()
        for line in [] if self._stopping else self._lines.rest():
            self._take_line(line)
        self.ended.set()
        if not self._stopping:
            self.chain.fail(self.index, self._death(process))

    def _death(self, process: SpawnedAgent) -> str:
        """Returns how the program ended, in words."""
        code = process.child.returncode
        how = "it closed its output"
        if code is not None:
            how = f"exit code {code}" if code >= 0 else f"killed by signal {-code}"
        tail = process.stderr_tail
        return sentence(f"{self.name} stopped unexpectedly ({how}).") + (f" Last output:\n{tail}" if tail else "")
