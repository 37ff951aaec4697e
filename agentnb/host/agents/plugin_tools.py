"""Serves the tools of plug-ins to one session's agent: each plug-in's as an MCP server with its name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError
from agentnb.host.agents.tools_for_agent import ToolsForAgent
from agentnb.kernel.content import said
from agentnb.kernel.server import ServerAbout
from agentnb.plugin_registry import plugins
from agentnb.policy.request import PolicyRequest
from agentnb.ports import ToolSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container

    from agentnb.acp.agent import Agent
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.agent.mcp import McpServer
    from agentnb.ports import Plugin, Tool


class PluginTools:
    """The tools of the plug-ins, for one session."""

    def __init__(
        self, session: str, folder: str, authorize: Callable[[PolicyRequest], Awaitable[PolicyRequest]]
    ) -> None:
        self._authorize_request = authorize
        self._session = ToolSession(session, folder, self._authorize)
        self._served: list[ToolsForAgent] = []

    async def serve(self, agent: Agent, taken: Container[object]) -> list[McpServer | ServedMcpServer]:
        """The MCP servers of the plug-ins that offer tools."""
        self.close()
        servers = []
        loaded = await asyncio.to_thread(lambda: plugins().loaded)  # the first time it looks through all packages
        for plugin in loaded.values():
            if plugin.tools:
                served = ToolsForAgent(_about(plugin))
                self._served.append(served)
                name = plugin.name if plugin.name not in taken else f"agentnb-{plugin.name}"
                servers.append(await served.serve(agent, _Caller(plugin, self._session), name))
        return servers

    def close(self) -> None:
        """Serve them no more."""
        for served in self._served:
            served.close()
        self._served.clear()

    async def _authorize(self, title: str, command: str) -> None:
        await self._authorize_request(PolicyRequest(kind="terminal", title=title, command=command))


class _Caller:
    def __init__(self, plugin: Plugin, session: ToolSession) -> None:
        self._plugin = plugin
        self._session = session
        self._tools = {tool.name: tool for tool in plugin.tools}

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        try:
            with plugins().guard(self._plugin.name, f"the tool {name!r}"):
                result = await self._tools[name].call(self._session, dict(arguments or {}))
        except AgentnbError as error:
            return said(str(error), failed=True)
        return result if isinstance(result, dict) else said(str(result))


def _about(plugin: Plugin) -> ServerAbout:
    tools = {tool.name: _described(tool) for tool in plugin.tools}
    return ServerAbout(name=f"agentnb-{plugin.name}", title=plugin.summary, instructions=plugin.summary, tools=tools)


def _described(tool: Tool) -> dict[str, Any]:
    hints = {"readOnlyHint": tool.reads_only, "destructiveHint": not tool.reads_only}
    schema = dict(tool.parameters)
    return {"name": tool.name, "description": tool.description, "inputSchema": schema, "annotations": hints}
