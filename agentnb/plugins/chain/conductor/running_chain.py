"""A chain of running programs and Python components, started together and ended together."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, TypeAlias

from agentnb.acp.fields import mapping, objects
from agentnb.errors import AgentnbError
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.conductor.chain import (
    DOWN,
    INITIALIZE,
    PATIENCE,
    START_PATIENCE,
    Chain,
    ChainFailure,
    ChainPlace,
)
from agentnb.plugins.chain.conductor.mcp_bridge import McpBridge, declared
from agentnb.plugins.chain.conductor.process_place import ProcessPlace
from agentnb.plugins.chain.conductor.python_place import SESSIONS, PythonPlace
from agentnb.plugins.chain.conductor.raw_message import RawMessage, encoded, read_line, refusal
from agentnb.rpc_message import INTERNAL_ERROR, Lines, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.confinement import Confine
    from agentnb.agent.process import SpawnedAgent
    from agentnb.plugins.chain.conductor.chain import Way

    Entry: TypeAlias = Component | AgentSpec

FROM_SERVERS = frozenset({"mcp/message", "_mcp/message", "_mcp/request", "_mcp/notification"})


class AgentPlace(ProcessPlace):
    def __init__(self, spec: AgentSpec) -> None:
        super().__init__(spec, spec.title)
        self._bridge = McpBridge(self)
        self._takes_acp = False
        self._waiting: deque[RawMessage] = deque()
        self._opening: asyncio.Task[None] | None = None
        self._initialize: Any = None

    def take(self, message: RawMessage, way: Way) -> None:
        if self._opening is not None:
            self._waiting.append(message)
            return
        if message.method == INITIALIZE:
            self._initialize = message.id
        elif message.method in FROM_SERVERS and self._bridge.take(message):
            return
        elif not self._takes_acp and message.is_request and message.method in SESSIONS:
            params = message.read_params()
            if any(declared(server) for server in objects(params.get("mcpServers"))):
                self._opening = asyncio.ensure_future(self._open(message, params, way))
                return
        super().take(message, way)

    def answered(self, message: RawMessage) -> None:
        """Note the agent's capabilities, before its answer is carried back."""
        if message.id == self._initialize and self._initialize is not None:
            able = mapping(mapping(message.read_result()).get("agentCapabilities"))
            self._takes_acp = mapping(able.get("mcpCapabilities")).get("acp") is True
            self._initialize = None
        super().answered(message)

    def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
        self._bridge.close()

    async def _open(self, message: RawMessage, params: dict[str, Any], way: Way) -> None:
        try:
            bridged = await self._bridge.bridged(params)
        except AgentnbError as error:
            self.chain.answered(self.index, refusal(message.id, RpcError(INTERNAL_ERROR, str(error))))
        else:
            super().take(RawMessage(method=message.method, id=message.id, params=encoded(bridged)), way)
        self._opening = None
        while self._waiting and self._opening is None:
            self.take(self._waiting.popleft(), way)


class ClientPlace(ChainPlace):
    """The client's place in the chain: the first one."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        super().__init__("the client")
        self._send = write
        self._lines = Lines()
        self._pending: list[bytes] = []

    def take(self, message: RawMessage, way: Way) -> None:
        del way
        self.take_lines(message.line())

    def answer(self, message: RawMessage) -> None:
        self.take_lines(message.line())

    def receive(self, data: bytes, take: Callable[[bytes], None] | None = None) -> None:
        for line in self._lines.feed(data):
            (take or self._take_line)(line)

    def _take_line(self, line: bytes) -> None:
        message = read_line(line)
        if message is None:
            self.chain.stray(self.index, "wrote a line that is not a message")
        elif message.is_answer:
            self.chain.answered(self.index, message)
        else:
            self.chain.send(self.index, DOWN, message)

    def flush(self) -> None:
        """Send what was written since the last flush."""
        pending, self._pending = self._pending, []
        if pending:
            self._send(b"".join(pending))

    def take_lines(self, block: bytes) -> None:
        if not self._pending:  # the lines of one read of the agent's output are sent together
            asyncio.get_running_loop().call_soon(self.flush)
        self._pending.append(block)


class RunningChain:
    def __init__(
        self,
        client: ChainPlace,
        components: Sequence[Entry],
        agent: AgentSpec | ChainPlace,
        on_failed: Callable[[ChainFailure], None],
        *,
        patience: float = PATIENCE,
        start_patience: float = START_PATIENCE,
    ) -> None:
        self.last: ChainPlace | AgentPlace = agent if isinstance(agent, ChainPlace) else AgentPlace(agent)
        names = Counter[str]()
        places = (client, *(_place(each, names) for each in components), self.last)
        self.chain: Chain = Chain(places, on_failed, patience=patience, start_patience=start_patience)

    @property
    def _programs(self) -> list[ProcessPlace]:
        return [place for place in self.chain.places if isinstance(place, ProcessPlace)]

    async def start(self, cwd: Path, env: Mapping[str, str] | None = None, confine: Confine | None = None) -> None:
        """Start every program; if one cannot be started, none is left running."""
        starts = [
            place.spawn(cwd, env, confine) if place is self.last else place.spawn(cwd) for place in self._programs
        ]
        ended = await asyncio.gather(*starts, return_exceptions=True)
        failure = next((each for each in ended if isinstance(each, BaseException)), None)
        if failure is not None:
            await self.stop(0)
            raise failure

    async def stop(self, patience: float) -> None:
        """End every program and everything it started."""
        self.chain.close()
        for place in self.chain.places:
            place.close()
        await asyncio.gather(*(place.stop(patience) for place in self._programs))


def _place(entry: Entry, names: Counter[str]) -> ChainPlace:
    names[entry.name] += 1
    count = names[entry.name]
    name = f"the component {entry.name!r}" + (f" (number {count} of that name)" if count > 1 else "")
    return PythonPlace(entry, name) if isinstance(entry, Component) else ProcessPlace(entry, name)


class ChainProcess:
    """A chain that looks like the agent's process to the client in this process (:class:`agentnb.acp.peer.Peer`)."""

    def __init__(
        self,
        agent: AgentSpec,
        on_output: Callable[[bytes], None],
        on_end: Callable[[], None],
        components: Sequence[Entry],
    ) -> None:
        self.failure: str | None = None
        self._on_end: Callable[[], None] | None = on_end
        self._client = ClientPlace(on_output)
        self._running = RunningChain(self._client, components, agent, self._failed)

    @classmethod
    async def spawn(
        cls,
        spec: AgentSpec,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        *,
        on_output: Callable[[bytes], None],
        on_end: Callable[[], None],
        components: Sequence[Entry],
        confine: Confine | None = None,
    ) -> ChainProcess:
        process = cls(spec, on_output, on_end, components)
        await process._running.start(cwd, env, confine)
        return process

    @property
    def agent(self) -> SpawnedAgent:
        last = self._running.last
        if not isinstance(last, ProcessPlace) or last.process is None:
            raise RuntimeError("spawn() makes a ChainProcess")
        return last.process

    @property
    def log_file(self) -> Path | None:
        """The first file to which a component logs messages."""
        places = (place for place in self._running.chain.places if isinstance(place, PythonPlace))
        return next((place.component.log_file for place in places if place.component.log_file is not None), None)

    def write(self, data: bytes) -> None:
        self._client.receive(data)

    async def stop(self, patience: float = 2.5) -> None:
        self._on_end = None
        await self._running.stop(patience)

    def _failed(self, failure: ChainFailure) -> None:
        self._client.flush()
        if failure.name != self._running.last.name:
            self.failure = failure.message
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()
