"""Gives one session's agent access to the kernel: serves it the kernel tools, over ACP or over stdio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.errors import NotOffered
from agentnb.host.agents.tools_for_agent import ToolsForAgent
from agentnb.kernel.server import kernel_server

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from agentnb.acp.agent import Agent
    from agentnb.acp.mcp import ServedMcpServer
    from agentnb.agent.mcp import McpServer
    from agentnb.host.environment import Environment
    from agentnb.kernel.changes import KernelChanges
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.kernel.tool_runner import ToolRunner

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
        """The MCP server of the tools: over ACP if *agent* supports that, else a program on stdio."""
        name = NAME if NAME not in taken else f"agentnb-{NAME}"
        return await self._served.serve(agent, self.tool_runner(), name)

    def tool_runner(self) -> ToolRunner:
        """Returns what carries out the calls."""
        runner = self._environment.code_runner()
        if runner is None:
            raise NotOffered("There is no IPython kernel here.", hint="Kernel tools work in IPython and in notebooks.")
        self._tool_runner = self._tool_runner or self._make_runner(runner, self._takes_pictures)
        return self._tool_runner

    def stop(self, call: tuple[str, str]) -> bool:
        """Stop the code that a tool runs, and nothing else; see :meth:`ToolRunner.stop`."""
        return self._tool_runner is not None and self._tool_runner.stop(call)

    def cancel(self) -> None:
        """Stop the calls that are still running: the turn is over."""
        if self._tool_runner is not None:
            self._tool_runner.cancel()

    def close(self) -> None:
        """End the agent's access to the kernel."""
        self.cancel()
        self._served.close()
        self._changes.close()

    def _takes_pictures(self) -> bool:
        agent = self._served.agent
        return agent is None or agent.capabilities.takes_pictures
