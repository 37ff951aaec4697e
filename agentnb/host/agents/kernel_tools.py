"""What one conversation's agent is lent of the kernel: the tools, over whichever way it can take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentnb.acp.mcp import ServedMcpServer
from agentnb.agent.mcp import McpServer
from agentnb.errors import NotOffered
from agentnb.ids import new_id
from agentnb.kernel import bridge
from agentnb.kernel.gate import Gate
from agentnb.kernel.kit import Kit
from agentnb.kernel.server import McpServer as KernelServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container

    from agentnb.acp.agent import Agent
    from agentnb.host.environment import Environment
    from agentnb.policy.request import PolicyRequest

NAME = "kernel"
"""What agents call the server, unless the user's own is called that."""


class KernelTools:
    """The tools of one session. Everything here runs on the host's thread.

    Args:
        tab_id: The session's tab.
        environment: Its code runner does the work.
        authorize: Asks the policy and the user.
        interrupted: Called when the user interrupts the code that the agent runs.
    """

    def __init__(
        self,
        tab_id: str,
        environment: Environment,
        authorize: Callable[[PolicyRequest], Awaitable[PolicyRequest]],
        interrupted: Callable[[], None],
    ) -> None:
        self._tab_id = tab_id
        self._environment = environment
        self._authorize = authorize
        self._interrupted = interrupted
        self._server_id = new_id()
        self._agent: Agent | None = None
        self._gate: Gate | None = None
        self._kit: Kit | None = None

    async def serve(self, agent: Agent, taken: Container[object]) -> McpServer | ServedMcpServer:
        """The server of the tools: on *agent*'s own wire where it takes that, else a program on stdio.

        Args:
            agent: Who is lent it.
            taken: Names of other servers that it is lent.

        Raises:
            NotOffered: Outside of IPython, or where no socket can be made for the program.
        """
        shell = self._environment.shell
        if shell is None:
            raise NotOffered("There is no IPython whose variables could be lent.", hint="Kernel tools need a kernel.")
        desk = self._environment.main_thread
        self._kit = self._kit or Kit(self._tab_id, shell.code_runner, self._authorize, self._interrupted, desk)
        name = NAME if NAME not in taken else f"agentnb-{NAME}"
        if agent.takes_served_mcp:
            self._agent = agent
            agent.served.offer(self._server_id, self._server)
            return ServedMcpServer(name, self._server_id)
        if self._gate is None:
            self._gate = await Gate.opened(self._server)
        args, env = ("-I", "-S", bridge.__file__), dict(self._gate.environment)
        return McpServer(name=name, transport="stdio", command=sys.executable, args=args, env=env)

    def cancel(self) -> None:
        """The turn is over: stop what is still being done."""
        if self._kit is not None:
            self._kit.cancel()

    def close(self) -> None:
        """Lend nothing any more."""
        self.cancel()
        if self._agent is not None:
            self._agent.served.withdraw(self._server_id)
        if self._gate is not None:
            self._gate.close()
        self._agent = self._gate = None

    def _server(self) -> KernelServer:
        if self._kit is None:
            raise RuntimeError("nothing was lent")
        return KernelServer(self._kit)
