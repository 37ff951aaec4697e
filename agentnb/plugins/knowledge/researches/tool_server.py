"""Serves the two tools of a research to its agent: over ACP, or by a program on stdio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.host.agents.tools_for_agent import ToolsForAgent
from agentnb.kernel.server import ServerAbout
from agentnb.plugins.knowledge.research.tools import INSTRUCTIONS, SERVER, TOOLS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container

    from agentnb.acp.agent import Agent
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.agent.mcp import McpServer

ABOUT = ServerAbout(name="agentnb-research", title="A package's source", instructions=INSTRUCTIONS, tools=TOOLS)


class ResearchTools:
    def __init__(self, run: Callable[[str, Any], Awaitable[Any]]) -> None:
        self._run = run
        self._served = ToolsForAgent(ABOUT)

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Carry out a call; see :class:`agentnb.kernel.server.ToolCaller`."""
        result: dict[str, Any] = await self._run(name, arguments)
        return result

    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        """The MCP server of the tools; see :meth:`agentnb.host.agents.kernel_tools.KernelTools.serve`."""
        del taken
        return await self._served.serve(agent, self, SERVER)

    def close(self) -> None:
        """Serve them no more."""
        self._served.close()
