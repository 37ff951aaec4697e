"""The agent's place in the chain: the last one."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping, objects
from agentnb.errors import AgentnbError
from agentnb.plugins.chain.conductor.chain import INITIALIZE
from agentnb.plugins.chain.conductor.mcp_bridge import McpBridge, declared
from agentnb.plugins.chain.conductor.process_place import ProcessPlace
from agentnb.plugins.chain.conductor.python_place import SESSIONS
from agentnb.plugins.chain.conductor.raw_message import RawMessage, encoded, refusal
from agentnb.rpc_message import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from agentnb.agent.catalog import AgentSpec
    from agentnb.plugins.chain.conductor.chain import Way

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
        """See :meth:`ChainPlace.take`."""
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
        """See what the agent says of itself, before its answer is carried back."""
        if message.id == self._initialize and self._initialize is not None:
            able = mapping(mapping(message.read_result()).get("agentCapabilities"))
            self._takes_acp = mapping(able.get("mcpCapabilities")).get("acp") is True
            self._initialize = None
        super().answered(message)

    def close(self) -> None:
        """See :meth:`ChainPlace.close`."""
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
