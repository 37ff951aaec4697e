"""The agent: one process that speaks ACP, launched, initialized and shared by sessions.

Everything here runs on one loop. What the agent says goes to the :class:`agentnb.acp.listener.Listener` of its session;
what it wants of us is answered by the services (:mod:`agentnb.acp.services`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping, objects, text
from agentnb.acp.mcp import METHODS, Served
from agentnb.acp.peer import Peer
from agentnb.acp.services import client_capabilities, own_info, serve
from agentnb.acp.session_calls import SessionCalls
from agentnb.acp.sessions import NewSession
from agentnb.errors import AgentDied, AgentnbError, AgentStartFailed, NotOffered, UsageError
from agentnb.events.kinds import AGENT_INITIALIZED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentnb.acp.listener import Tap
    from agentnb.agent.catalog import AgentSpec

PROTOCOL = 1
"""The version of the Agent Client Protocol that is spoken here."""

__all__ = ["Agent", "NewSession"]


class Agent(SessionCalls):
    """A launched agent; made by :meth:`launch`.

    Attributes:
        spec: What was launched.
        info: The agent's ``agentInfo``: name, title, version; empty when it says nothing.
        capabilities: Its ``agentCapabilities``, as sent.
        stopped: Whether we ended it, or are about to.
        since: When it came up, on its loop's clock, in seconds.
        served: The MCP servers that we serve it on its own wire.

    Example:
        >>> agent = await Agent.launch(find("eliza"), cwd=Path.cwd())  # doctest: +SKIP
        >>> new = await agent.new_session(str(Path.cwd()), (), listener)  # doctest: +SKIP
        >>> agent.prompt(new.session_id, [{"type": "text", "text": "Hello"}], done)  # doctest: +SKIP
    """

    def __init__(self, spec: AgentSpec, tap: Tap | None = None) -> None:
        super().__init__()
        self.spec = spec
        self.info: dict[str, Any] = {}
        self.stopped = False
        self.since = 0.0
        self.served = Served()
        self._peer = Peer(
            spec, on_notifications=self._sessions.deliver, on_request=self._serve, on_lost=self._lost, tap=tap
        )

    @classmethod
    async def launch(
        cls,
        spec: AgentSpec,
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        client_info: Mapping[str, str] | None = None,
        initialize_timeout: float | None = None,
        tap: Tap | None = None,
    ) -> Agent:
        """Start the agent's process and agree on the protocol (ACP ``initialize``).

        Args:
            spec: What to launch.
            cwd: The folder it runs in.
            env: Variables on top of the user's environment and the spec's.
            client_info: ACP ``clientInfo``: name, title, version.
            initialize_timeout: The longest wait for its answer, in seconds; by default the spec's.
            tap: Who hears both directions of its wire.

        Raises:
            AgentNotFound: If its command is not installed.
            AgentStartFailed: If it dies, does not answer in time, refuses, or speaks another protocol.
            AuthenticationRequired: If it wants a login even for that.
        """
        agent = cls(spec, tap)
        try:
            await agent._peer.spawn(cwd, env)
            await agent._initialize(dict(client_info or own_info()), initialize_timeout)
        except BaseException:
            await agent.stop(patience=0)
            raise
        return agent

    @property
    def name(self) -> str:
        """What it calls itself, else what the catalogue calls it."""
        return text(self.info.get("title")) or text(self.info.get("name")) or self.spec.title

    @property
    def version(self) -> str | None:
        """Its version, if it says."""
        return text(self.info.get("version"))

    @property
    def auth_methods(self) -> tuple[dict[str, Any], ...]:
        """The logins it offers (ACP ``authMethods``), as sent."""
        return self._peer.auth_methods

    @property
    def prompt_capabilities(self) -> dict[str, Any]:
        """What a prompt may hold besides text (ACP ``promptCapabilities``)."""
        return mapping(self.capabilities.get("promptCapabilities"))

    @property
    def mcp_capabilities(self) -> dict[str, Any]:
        """Which MCP servers it can reach besides those on stdio (ACP ``mcpCapabilities``)."""
        return mapping(self.capabilities.get("mcpCapabilities"))

    @property
    def steers(self) -> bool:
        """Whether a prompt sent while another runs goes into that turn, as the catalogue or the agent says."""
        own = mapping(self.capabilities.get("_meta")).values()
        return self.spec.steering or any(mapping(each).get("promptQueueing") is True for each in own)

    @property
    def stderr_tail(self) -> str:
        """The last lines it wrote to stderr, without secrets."""
        return self._peer.stderr_tail

    @property
    def unaddressed(self) -> tuple[tuple[str, Any], ...]:
        """The last notifications that named no session, ``(method, params)`` as sent."""
        return tuple(self._sessions.unaddressed)

    @property
    def stray(self) -> int:
        """How many lines it wrote to stdout that were no message."""
        return self._peer.stray

    @property
    def closed(self) -> bool:
        """Whether it is gone: stopped, dead, or deaf."""
        return self._peer.closed

    @property
    def pid(self) -> int:
        """Its process id, which is its process group's as well."""
        return self._peer.pid

    async def wait_closed(self) -> None:
        """Wait until it is gone and nothing that it started is left."""
        await self._peer.wait_closed()

    async def authenticate(self, method_id: str, timeout: float | None = None) -> None:
        """Log in with one of :attr:`auth_methods` (ACP ``authenticate``)."""
        await self._peer.request("authenticate", {"methodId": method_id}, timeout)

    async def logout(self) -> None:
        """Make the agent forget its login (ACP ``logout``).

        Raises:
            NotOffered: If it cannot.
            AgentError: If it refuses, does not answer, or is gone.
        """
        if not self.offers("logout") and self.spec.logout:
            message = f"{self.spec.title} does not offer to log out."
            raise NotOffered(message, hint=f"Type `{self.spec.logout}` in a terminal.")
        self.demand("logout")
        await self._peer.request("logout", {})

    async def extend(self, method: str, params: dict[str, Any], timeout: float | None = None) -> Any:
        """Ask something that the protocol leaves to the two sides (ACP extension methods, ``_name/method``).

        Raises:
            UsageError: If *method* does not begin with an underscore.
            AgentError: If the agent refuses, does not answer, or is gone.
        """
        return await self._peer.request(extension(method), params, timeout)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """As :meth:`extend`, for a notification: nobody answers.

        Raises:
            UsageError: If *method* does not begin with an underscore.
            AgentDied: If the agent is gone.
        """
        if self._peer.closed:
            raise AgentDied(f"{self.spec.title} is gone.", hint="The next prompt starts it again.")
        self._peer.notify(extension(method), params)

    async def stop(self, patience: float = 2.5) -> None:
        """End the agent and everything it started; listeners of open sessions are told.

        Args:
            patience: How long, in seconds, it may take to leave by itself.
        """
        self.stopped = True
        await self._peer.stop(patience)

    # --- inside ---

    async def _initialize(self, client_info: dict[str, str], timeout: float | None) -> None:
        params = {
            "protocolVersion": PROTOCOL,
            "clientCapabilities": client_capabilities(self.spec.capabilities),
            "clientInfo": client_info,
        }
        answer = mapping(await self._peer.request("initialize", params, timeout))
        version = answer.get("protocolVersion", PROTOCOL)
        if version != PROTOCOL:
            message = f"{self.spec.title} speaks version {version!r} of the Agent Client Protocol, not {PROTOCOL}."
            raise AgentStartFailed(message, hint="Install a version of it that does.")
        self.info = mapping(answer.get("agentInfo"))
        self.capabilities = mapping(answer.get("agentCapabilities"))
        self._peer.auth_methods = tuple(objects(answer.get("authMethods")))
        self._peer.started = True
        AGENT_INITIALIZED.tell(agent=self.spec.name, pid=self.pid, version=self.version)
        self.since = asyncio.get_running_loop().time()

    async def _serve(self, method: str, params: dict[str, Any]) -> Any:
        if method in METHODS:
            return await self.served.serve(method, params)
        return await serve(method, params, self._sessions, self.spec.capabilities)

    async def _lost(self, reason: AgentnbError) -> None:
        await self._sessions.lose(reason)


def extension(method: str) -> str:
    """*method*, if it is the name of an extension.

    Raises:
        UsageError: If it does not begin with an underscore: all other names are the protocol's.
    """
    if not method.startswith("_"):
        raise UsageError(f"{method!r} is no extension method.", hint="Their names begin with an underscore.")
    return method
