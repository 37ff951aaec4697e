"""Serves the tools of plug-ins to one session's agent: each plug-in's as an MCP server with its name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError, PermissionDenied
from agentnb.host.agents.tools_for_agent import ToolsForAgent
from agentnb.kernel.content import text_result
from agentnb.kernel.server import ServerAbout
from agentnb.kernel.tools import call_offer, described_offer
from agentnb.plugin_registry import plugins
from agentnb.policy.request import PolicyRequest
from agentnb.ports import ToolSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Mapping

    from agentnb.acp.agent import Agent
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.agent.mcp import McpServer
    from agentnb.host.environment import Environment
    from agentnb.ports import Plugin, Tool


class PluginTools:
    """The tools of the plug-ins, for one session."""

    def __init__(self, session: ToolSession) -> None:
        self._session = session
        self._served: list[ToolsForAgent] = []

    async def serve(self, agent: Agent, taken: Container[object]) -> list[McpServer | ServedMcpServer]:
        """The MCP servers of the plug-ins that offer tools."""
        self.close()
        servers = []
        loaded = await asyncio.to_thread(lambda: plugins().loaded)  # the first time it looks through all packages
        for plugin in loaded.values():
            tools = {tool.name: tool for tool in plugin.tools if not tool.with_kernel}
            if tools:
                served = ToolsForAgent(_about(plugin, tools))
                self._served.append(served)
                name = plugin.name if plugin.name not in taken else f"agentnb-{plugin.name}"
                servers.append(await served.serve(agent, _Caller(plugin.name, tools, self._session), name))
        return servers

    def close(self) -> None:
        """Serve them no more."""
        for served in self._served:
            served.close()
        self._served.clear()


class _Caller:
    def __init__(self, plugin: str, tools: Mapping[str, Tool], session: ToolSession) -> None:
        self._plugin = plugin
        self._session = session
        self._tools = tools

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        try:
            return await call_offer(self._plugin, self._tools[name], self._session, dict(arguments or {}))
        except AgentnbError as error:
            return text_result(str(error), failed=True)


def _about(plugin: Plugin, tools: Mapping[str, Tool]) -> ServerAbout:
    descriptions = {name: described_offer(tool) for name, tool in tools.items()}
    return ServerAbout(
        name=f"agentnb-{plugin.name}", title=plugin.summary, instructions=plugin.summary, tools=descriptions
    )


def tool_session(
    ask: Callable[[PolicyRequest], Awaitable[PolicyRequest]], environment: Environment, **fields: Any
) -> ToolSession:
    """The session that tools of plug-ins are for; *fields* are the others of :class:`agentnb.ports.ToolSession`."""

    async def authorize(title: str, command: str) -> None:
        await ask(PolicyRequest(kind="terminal", title=title, command=command))

    return ToolSession(
        authorize=authorize,
        ask=ask,
        code_runner=environment.code_runner,
        setting=lambda name: environment.sources()[name].value,
        **fields,
    )


async def allow_reading(request: PolicyRequest) -> PolicyRequest:
    """The policy of tools that components bring: there is no conversation in which the user could be asked."""
    if request.kind != "read":
        raise PermissionDenied(f"{request.title}: no one could be asked, so nothing was done.")
    return request
