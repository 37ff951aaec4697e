"""The tools that a session's agent gets: the kernel's and those of plug-ins, and how it reaches them."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from agentnb.acp.mcp import ServedMcpServer
from agentnb.agent.mcp import McpServer
from agentnb.errors import AgentnbError, NotOffered, PermissionDenied
from agentnb.ids import new_id
from agentnb.kernel import bridge
from agentnb.kernel.content import text_result
from agentnb.kernel.local_server import HttpServer, SocketServer, demand_loopback
from agentnb.kernel.server import RecordedServer, ServerAbout, ToolMcpServer, kernel_server
from agentnb.kernel.tools import call_offer, described_offer
from agentnb.plugin_registry import plugins
from agentnb.policy.request import PolicyRequest
from agentnb.ports import ToolSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Mapping

    from agentnb.acp.agent import Agent
    from agentnb.host.environment import Environment
    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.kernel.code_tools import ToolRunner
    from agentnb.kernel.server import ToolCaller
    from agentnb.ports import Plugin, Tool


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
        # A replay has no program on stdio: it calls this server.
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


NAME = "kernel"
"""The server's name as agents see it, unless one of the user's own servers has that name."""


class KernelTools:
    """The tools of one session. Everything here runs on the host's thread."""

    def __init__(
        self,
        environment: Environment,
        changes: KernelChanges,
        make_runner: Callable[[CodeRunner, Callable[[], bool]], ToolRunner],
    ) -> None:
        self._environment = environment
        self._changes = changes
        self._make_runner = make_runner
        self._served = ToolsForAgent(kernel_server())
        self._tool_runner: ToolRunner | None = None

    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        name = NAME if NAME not in taken else f"agentnb-{NAME}"
        return await self._served.serve(agent, self.tool_runner(), name)

    def tool_runner(self) -> ToolRunner:
        runner = self._environment.code_runner()
        if runner is None:
            raise NotOffered("There is no IPython kernel here.", hint="Kernel tools work in IPython and in notebooks.")
        self._tool_runner = self._tool_runner or self._make_runner(runner, self._takes_pictures)
        return self._tool_runner

    def stop(self, call: tuple[str, str]) -> bool:
        """Stop only the code that a tool runs; see :meth:`ToolRunner.stop`."""
        return self._tool_runner is not None and self._tool_runner.stop(call)

    def cancel(self) -> None:
        if self._tool_runner is not None:
            self._tool_runner.cancel()

    def close(self) -> None:
        self.cancel()
        self._served.close()
        self._changes.close()

    def _takes_pictures(self) -> bool:
        agent = self._served.agent
        return agent is None or agent.capabilities.takes_pictures


class PluginTools:
    def __init__(self, session: ToolSession) -> None:
        self._session = session
        self._served: list[ToolsForAgent] = []

    async def serve(self, agent: Agent, taken: Container[object]) -> list[McpServer | ServedMcpServer]:
        self.close()
        servers = []
        loaded = await asyncio.to_thread(lambda: plugins().loaded)  # the first call searches all packages
        for plugin in loaded.values():
            tools = {tool.name: tool for tool in plugin.tools if not tool.with_kernel}
            if tools:
                served = ToolsForAgent(_about(plugin, tools))
                self._served.append(served)
                name = plugin.name if plugin.name not in taken else f"agentnb-{plugin.name}"
                servers.append(await served.serve(agent, _Caller(plugin.name, tools, self._session), name))
        return servers

    def close(self) -> None:
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
    """The session for plug-in tools; *fields* are the other fields of :class:`agentnb.ports.ToolSession`."""

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
    """The policy of components' tools: only reading is allowed, since there is no conversation to ask a user in."""
    if request.kind != "read":
        raise PermissionDenied(f"{request.title}: no one could be asked, so nothing was done.")
    return request
