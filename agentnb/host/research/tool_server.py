"""Serves the two tools of a research to its agent: over ACP, or by a program on stdio."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from agentnb.acp.mcp import ServedMcpServer
from agentnb.agent.mcp import McpServer
from agentnb.ids import new_id
from agentnb.kernel import bridge
from agentnb.kernel.server import McpServer as ToolServer
from agentnb.kernel.server import RecordedServer, ServerAbout
from agentnb.kernel.socket_server import SocketServer
from agentnb.package_research.tools import INSTRUCTIONS, SERVER, TOOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container

    from agentnb.acp.agent import Agent

ON_STDIO = "agentnb-research"
"""The id of the tools of an agent that reaches them on stdio, in a cassette."""
ABOUT = ServerAbout(name="agentnb-research", title="A package's source", instructions=INSTRUCTIONS, tools=TOOLS)


class ResearchTools:
    """The tools of one research.

    Args:
        run: Carries out a call: the tool's name and its arguments; the result is an MCP ``CallToolResult``.
    """

    def __init__(self, run: Callable[[str, Any], Awaitable[Any]]) -> None:
        self._run = run
        self._server_id = new_id()
        self._agent: Agent | None = None
        self._socket_server: SocketServer | None = None

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Carry out a call; see :class:`agentnb.kernel.server.ToolCaller`."""
        result: dict[str, Any] = await self._run(name, arguments)
        return result

    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        """The MCP server of the tools; see :meth:`agentnb.host.agents.kernel_tools.KernelTools.serve`.

        Raises:
            NotOffered: If no socket can be made for the program.
        """
        del taken
        self._agent = agent
        agent.served.offer(self._server_id, lambda: ToolServer(self, ABOUT))
        if agent.takes_served_mcp:
            return ServedMcpServer(SERVER, self._server_id)
        agent.served.offer(ON_STDIO, lambda: ToolServer(self, ABOUT))
        if self._socket_server is None:
            asked = partial(agent.asked_aside, ON_STDIO)
            self._socket_server = await SocketServer.started(lambda: RecordedServer(self, asked, ABOUT))
        args, env = ("-I", "-S", bridge.__file__), dict(self._socket_server.environment)
        return McpServer(name=SERVER, transport="stdio", command=sys.executable, args=args, env=env)

    def close(self) -> None:
        """Serve them no more."""
        if self._agent is not None:
            self._agent.served.withdraw(self._server_id)
            self._agent.served.withdraw(ON_STDIO)
        if self._socket_server is not None:
            self._socket_server.close()
        self._agent = self._socket_server = None
