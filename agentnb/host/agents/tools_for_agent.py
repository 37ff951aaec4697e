"""Serves tools of ours to one agent, as an MCP server: over ACP, by a program on stdio, or over HTTP at loopback."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from agentnb.acp.mcp import ServedMcpServer
from agentnb.agent.mcp import McpServer
from agentnb.errors import NotOffered
from agentnb.ids import new_id
from agentnb.kernel import bridge
from agentnb.kernel.http_server import HttpServer, demand_loopback
from agentnb.kernel.server import RecordedServer, ToolMcpServer
from agentnb.kernel.socket_server import SocketServer

if TYPE_CHECKING:
    from agentnb.acp.agent import Agent
    from agentnb.kernel.server import ServerAbout, ToolCaller


class ToolsForAgent:
    """The tools of one agent. Everything here runs on the host's thread."""

    def __init__(self, about: ServerAbout) -> None:
        self.agent: Agent | None = None
        self._about = about
        self._server_id = new_id()
        self._socket_server: SocketServer | None = None
        self._http_server: HttpServer | None = None

    async def serve(self, agent: Agent, caller: ToolCaller, name: str) -> McpServer | ServedMcpServer:
        """The MCP server of the tools: over ACP if *agent* supports it, else as its `mcp_transport` says."""
        self.agent = agent
        agent.served.offer(self._server_id, lambda: ToolMcpServer(caller, self._about))
        if agent.capabilities.takes_served_mcp:
            return ServedMcpServer(name, self._server_id)
        if agent.spec.url is not None:
            message = f"{agent.spec.title} runs on another machine and does not take tools over its own connection."
            raise NotOffered(message, hint="An agent there gets them if it supports MCP over ACP.")
        # A replay has no program on stdio: it asks here.
        agent.served.offer(self._about.name, lambda: ToolMcpServer(caller, self._about))
        if agent.spec.mcp_transport == "http":
            reached = agent.process is None or agent.process.reaches_loopback
            demand_loopback(agent.spec.title, reached=reached)
            self._http_server = self._http_server or await HttpServer.started(lambda: self._recorded_server(caller))
            url, headers = self._http_server.url, self._http_server.headers
            return McpServer(name=name, transport="http", url=url, headers=headers)
        if self._socket_server is None:
            self._socket_server = await SocketServer.started(lambda: self._recorded_server(caller))
        args, env = ("-I", "-S", bridge.__file__), dict(self._socket_server.environment)
        return McpServer(name=name, transport="stdio", command=sys.executable, args=args, env=env)

    def close(self) -> None:
        """Serve them no more."""
        if self.agent is not None:
            self.agent.served.withdraw(self._server_id)
            self.agent.served.withdraw(self._about.name)
        if self._socket_server is not None:
            self._socket_server.close()
        if self._http_server is not None:
            self._http_server.close()
        self.agent = self._socket_server = self._http_server = None

    def _recorded_server(self, caller: ToolCaller) -> RecordedServer:
        if self.agent is None:
            raise RuntimeError("the agent is gone")
        return RecordedServer(caller, partial(self.agent.served.asked_aside, self._about.name), self._about)
