"""Gives one session's agent access to the kernel: serves it the kernel tools, over ACP or over stdio."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from agentnb.acp.mcp import ServedMcpServer
from agentnb.agent.mcp import McpServer
from agentnb.errors import NotOffered
from agentnb.ids import new_id
from agentnb.kernel import bridge
from agentnb.kernel.changes import KernelChanges
from agentnb.kernel.server import McpServer as KernelServer
from agentnb.kernel.server import RecordedServer
from agentnb.kernel.socket_server import SocketServer
from agentnb.kernel.tool_runner import ToolRunner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Container
    from pathlib import Path

    from agentnb.acp.agent import Agent
    from agentnb.host.environment import Environment
    from agentnb.package_research import Research
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import ToolCallRun

ON_STDIO = "agentnb-kernel"
"""The id of the tools of an agent that reaches them on stdio, in a cassette."""
NAME = "kernel"
"""The server's name as agents see it, unless one of the user's own servers has that name."""


class KernelTools:
    """The tools of one session. Everything here runs on the host's thread.

    Args:
        tab_id: The session's tab.
        environment: Its code runner does the work.
        authorize: Asks the policy and the user.
        interrupted: Called when the user interrupts the code that the agent runs.
        finished: Called with each tool that has ended, why it failed, or None, and what became of variables.
        access: What the agent may do with the tools, now: ``"off"``, ``"look"`` or ``"run"``.
        progressed: Called with each tool that runs code, and how that stands.
        workspace: The session's folder.
        research: Answers a question about a package; None: the agent cannot ask one.
        researched: Called with each call that asked one, and the answer.

    Attributes:
        changes: What the agent has changed in the kernel and the notebook, by turn.
    """

    def __init__(
        self,
        tab_id: str,
        environment: Environment,
        authorize: Callable[[PolicyRequest], Awaitable[PolicyRequest]],
        interrupted: Callable[[], None],
        finished: Callable[[tuple[str, str], str | None, Collection[str] | None], None],
        *,
        access: Callable[[], str] = lambda: "run",
        progressed: Callable[[tuple[str, str], ToolCallRun], object] = lambda _call, _run: None,
        workspace: Path | None = None,
        research: Callable[[str, str, str | None], Awaitable[Research]] | None = None,
        researched: Callable[[tuple[str, str], Research], object] = lambda _call, _found: None,
    ) -> None:
        self._tab_id = tab_id
        self._environment = environment
        self._authorize = authorize
        self._interrupted = interrupted
        self._finished = finished
        self._access = access
        self._progressed = progressed
        self._workspace = workspace
        self._research = research
        self._researched = researched
        self.changes = KernelChanges(tab_id, environment.code_runner, environment.job_queue)
        self._server_id = new_id()
        self._agent: Agent | None = None
        self._socket_server: SocketServer | None = None
        self._tool_runner: ToolRunner | None = None

    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        """The MCP server of the tools: over ACP if *agent* supports that, else a program on stdio.

        Args:
            agent: The agent that gets access.
            taken: The names of the other MCP servers that it is given.

        Raises:
            NotOffered: Outside of IPython, or where no socket can be made for the program.
        """
        self.tool_runner()
        name = NAME if NAME not in taken else f"agentnb-{NAME}"
        self._agent = agent
        agent.served.offer(self._server_id, self._server)
        if agent.takes_served_mcp:
            return ServedMcpServer(name, self._server_id)
        agent.served.offer(ON_STDIO, self._server)  # a replay has no program on stdio: it asks here
        if self._socket_server is None:
            self._socket_server = await SocketServer.started(self._recorded_server)
        args, env = ("-I", "-S", bridge.__file__), dict(self._socket_server.environment)
        return McpServer(name=name, transport="stdio", command=sys.executable, args=args, env=env)

    def tool_runner(self) -> ToolRunner:
        """What carries out the calls.

        Raises:
            NotOffered: Outside of IPython.
        """
        runner = self._environment.code_runner()
        if runner is None:
            raise NotOffered("There is no IPython kernel here.", hint="Kernel tools work in IPython and in notebooks.")
        self._tool_runner = self._tool_runner or ToolRunner(
            self._tab_id,
            runner,
            self._authorize,
            self._interrupted,
            self._environment.job_queue,
            finished=self._finished,
            access=self._access,
            changes=self.changes,
            progressed=self._progressed,
            takes_pictures=lambda: self._agent is None or self._agent.takes_pictures,
            workspace=self._workspace,
            research=self._research,
            researched=self._researched,
        )
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
        if self._agent is not None:
            self._agent.served.withdraw(self._server_id)
            self._agent.served.withdraw(ON_STDIO)
        if self._socket_server is not None:
            self._socket_server.close()
        self._agent = self._socket_server = None
        self.changes.close()

    def _server(self) -> KernelServer:
        if self._tool_runner is None:
            raise RuntimeError("serve was not called")
        return KernelServer(self._tool_runner)

    def _recorded_server(self) -> KernelServer:
        agent = self._agent
        if self._tool_runner is None or agent is None:
            raise RuntimeError("serve was not called")
        return RecordedServer(self._tool_runner, partial(agent.asked_aside, ON_STDIO))
