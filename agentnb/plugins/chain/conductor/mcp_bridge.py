"""MCP over ACP for agents that take MCP servers only on stdio, or over HTTP."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.acp.fields import mapping, objects
from agentnb.kernel import bridge
from agentnb.kernel.local_server import HttpServer, SocketServer, demand_loopback
from agentnb.kernel.server import ToolMcpServer
from agentnb.plugins.chain.conductor.chain import UP
from agentnb.plugins.chain.conductor.raw_message import NO_ID, RawMessage, refusal, request, result
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.plugins.chain.conductor.process_place import ProcessPlace
    from agentnb.rpc import Connection


class Declared(msgspec.Struct, frozen=True):
    """A server that a component or the client serves."""

    name: str
    params: dict[str, str]
    prefix: str = ""


def declared(server: dict[str, Any]) -> Declared | None:
    """Returns the declaration in *server*, an entry of ``mcpServers``, if it is one over ACP; otherwise None."""
    name = str(server.get("name"))
    if server.get("type") == "acp":
        known = {"serverId": server.get("serverId"), "acpId": server.get("id")}
        return Declared(name, {key: value for key, value in known.items() if isinstance(value, str)})
    url = server.get("url")
    if isinstance(url, str) and url.startswith("acp:"):
        return Declared(name, {"acp_url": url}, "_")
    return None


class McpBridge:
    """The servers of one agent that are bridged."""

    def __init__(self, agent: ProcessPlace) -> None:
        self._agent = agent
        self._sockets: dict[str, SocketServer] = {}
        self._addresses: dict[str, HttpServer] = {}
        self.relays: dict[str, _Relay] = {}
        self._last = 0

    async def bridged(self, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the *params* that open a session, with servers over ACP in the form that the agent accepts."""
        servers = [await self._bridged(server) for server in objects(params.get("mcpServers"))]
        return {**params, "mcpServers": servers}

    async def _bridged(self, server: dict[str, Any]) -> dict[str, Any]:
        declaration = declared(server)
        if declaration is None:
            return server
        key = repr(declaration)
        if self._agent.spec.mcp_transport == "http":
            process = self._agent.process
            demand_loopback(self._agent.spec.title, reached=process is None or process.reaches_loopback)
            if key not in self._addresses:
                self._addresses[key] = await HttpServer.started(lambda: _Relay(self, declaration))
            headers = [{"name": name, "value": value} for name, value in self._addresses[key].headers.items()]
            return {"type": "http", "name": declaration.name, "url": self._addresses[key].url, "headers": headers}
        if key not in self._sockets:
            self._sockets[key] = await SocketServer.started(lambda: _Relay(self, declaration))
        env = [{"name": name, "value": value} for name, value in self._sockets[key].environment.items()]
        return {"name": declaration.name, "command": sys.executable, "args": ["-I", "-S", bridge.__file__], "env": env}

    def take(self, message: RawMessage) -> bool:
        """Take a message from a server to the agent; False if it is not for one of the bridge's connections."""
        params = message.read_params()
        relay = self.relays.get(str(params.get("connectionId")))
        if relay is None:
            return False
        relay.take(message, params)
        return True

    def close(self) -> None:
        for server in (*self._sockets.values(), *self._addresses.values()):
            server.close()
        self._addresses.clear()
        self._sockets.clear()

    def ask(self, method: str, params: dict[str, Any], done: Callable[[RawMessage], None]) -> str:
        """Send a request up the chain as if it came from the agent; returns its id, which is none of the agent's."""
        self._last += 1
        number = f"agentnb-mcp-{self._last}"
        self._agent.chain.ask(self._agent.index, UP, request(method, params, number), done)
        return number

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification up the chain as if it came from the agent."""
        self._agent.chain.send(self._agent.index, UP, request(method, params))

    def answer(self, message: RawMessage) -> None:
        """Answer a request that came down the chain."""
        self._agent.chain.answered(self._agent.index, message)


class _Relay(ToolMcpServer):
    """One program's connection, whose requests it passes on to the chain."""

    def __init__(self, owner: McpBridge, server: Declared) -> None:
        self._owner = owner
        self._server = server
        self._connection: str | None = None
        self._program: Connection | None = None

    def opened(self, connection: Connection, hang_up: Callable[[], object]) -> None:
        del hang_up
        self._program = connection

    def closed(self) -> None:
        if self._connection is not None:
            params = {"connectionId": self._connection}
            self._owner.ask(f"{self._server.prefix}mcp/disconnect", params, lambda _: None)
            self._owner.relays.pop(self._connection, None)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._connection is None:
            answer = mapping(await self._send_request(f"{self._server.prefix}mcp/connect", dict(self._server.params)))
            self._connection = str(answer.get("connectionId") or answer.get("connection_id"))
            self._owner.relays[self._connection] = self
        inner = {"connectionId": self._connection, "method": method, "params": params}
        return mapping(await self._send_request(self._method(is_request=True), inner))

    def take(self, message: RawMessage, params: dict[str, Any]) -> None:
        """Give the program a notification or request from its server."""
        if self._program is None:
            return
        method, inner = str(params.get("method")), params.get("params") or {}
        if message.id is NO_ID:
            self._program.notify(method, inner)
            return
        request_id = message.id

        def done(value: Any, error: Exception | None) -> None:
            if error is None:
                self._owner.answer(result(request_id, value))
            elif isinstance(error, RpcError):
                self._owner.answer(refusal(request_id, error))

        self._program.call(method, inner, done)

    def notified(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications if self._connection is not None else ():
            inner = {"connectionId": self._connection, "method": method, "params": params or {}}
            self._owner.tell(self._method(is_request=False), inner)

    def _method(self, *, is_request: bool) -> str:
        if not self._server.prefix:
            return "mcp/message"
        return "_mcp/request" if is_request else "_mcp/notification"

    async def _send_request(self, method: str, params: dict[str, Any]) -> Any:
        answer: asyncio.Future[RawMessage] = asyncio.get_running_loop().create_future()
        number = self._owner.ask(method, params, lambda message: None if answer.done() else answer.set_result(message))
        try:
            message = await answer
        except BaseException:
            self._owner.tell("$/cancel_request", {"requestId": number})
            raise
        if message.error:
            raise RpcError.received(message.read_error())
        return message.read_result()
