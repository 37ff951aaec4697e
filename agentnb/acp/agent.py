"""The agent: one process that speaks ACP, launched, initialized and shared by sessions.

Everything here runs on one loop. What the agent says goes to the :class:`agentnb.acp.listener.Listener` of its session;
what it wants of us is answered by the services (:mod:`agentnb.acp.services`).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping, objects, text
from agentnb.acp.peer import Peer
from agentnb.acp.services import client_capabilities, own_info, serve
from agentnb.acp.sessions import NewSession, Sessions
from agentnb.errors import AgentnbError, AgentStartFailed, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agentnb.acp.listener import Listener, Tap
    from agentnb.acp.peer import Done
    from agentnb.agent.catalog import AgentSpec

PROTOCOL = 1
"""The version of the Agent Client Protocol that is spoken here."""

_CLOSE_TIMEOUT = 5.0

__all__ = ["Agent", "NewSession"]


class Agent:
    """A launched agent; made by :meth:`launch`.

    Attributes:
        spec: What was launched.
        info: The agent's ``agentInfo``: name, title, version; empty when it says nothing.
        capabilities: Its ``agentCapabilities``, as sent.

    Example:
        >>> agent = await Agent.launch(find("eliza"), cwd=Path.cwd())  # doctest: +SKIP
        >>> new = await agent.new_session(str(Path.cwd()), (), listener)  # doctest: +SKIP
        >>> agent.prompt(new.session_id, [{"type": "text", "text": "Hello"}], done)  # doctest: +SKIP
    """

    def __init__(self, spec: AgentSpec, tap: Tap | None = None) -> None:
        self.spec = spec
        self.info: dict[str, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self._models: set[str] = set()
        self._sessions = Sessions()
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
        await agent._peer.spawn(cwd, env)
        try:
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
    def stderr_tail(self) -> str:
        """The last lines it wrote to stderr, without secrets."""
        return self._peer.stderr_tail

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

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[dict[str, Any]], listener: Listener, *, timeout: float | None = None
    ) -> NewSession:
        """Open a session (ACP ``session/new``).

        Updates that come before the answer are kept, and delivered right after the caller got it.

        Args:
            cwd: Absolute path of the workspace; file access is confined to it.
            mcp_servers: MCP servers for the agent, as ACP wants them.
            listener: Who hears what is said.
            timeout: The longest wait, in seconds; by default the spec's ``initialize_timeout``.

        Raises:
            AuthenticationRequired: If the agent wants a login first; its methods are named.
            AgentError: If it refuses, does not answer, or is gone.
        """
        params = {"cwd": cwd, "mcpServers": list(mcp_servers)}
        return await self._open("session/new", params, listener, timeout)

    async def load_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[dict[str, Any]], listener: Listener
    ) -> NewSession:
        """Open an old session; *listener* hears all of it again (ACP ``session/load``).

        Raises:
            AgentError: If it refuses, does not answer, or is gone.
        """
        params = {"sessionId": session_id, "cwd": cwd, "mcpServers": list(mcp_servers)}
        return await self._open("session/load", params, listener, None)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> dict[str, Any]:
        """The sessions that the agent keeps, one page of them as sent (ACP ``session/list``)."""
        params = {name: value for name, value in (("cwd", cwd), ("cursor", cursor)) if value is not None}
        return mapping(await self._peer.request("session/list", params))

    def prompt(self, session_id: str, blocks: Sequence[dict[str, Any]], done: Done) -> None:
        """Start a turn (ACP ``session/prompt``).

        Args:
            session_id: The session.
            blocks: ACP content blocks.
            done: Called with ``(result, None)`` or ``(None, error)`` in the order of the wire: after every update that
                came before the answer and before every one that came behind it.
        """
        self._peer.call("session/prompt", {"sessionId": session_id, "prompt": list(blocks)}, done)

    def cancel(self, session_id: str) -> None:
        """Ask the agent to end the running turn (ACP ``session/cancel``).

        The host answers what the agent has asked and not been told yet with ``cancelled``; some hang otherwise.
        """
        self._peer.notify("session/cancel", {"sessionId": session_id})

    async def set_mode(self, session_id: str, mode_id: str) -> None:
        """Choose a mode (ACP ``session/set_mode``)."""
        await self._peer.request("session/set_mode", {"sessionId": session_id, "modeId": mode_id})

    async def set_config_option(self, session_id: str, config_id: str, value: str | bool) -> dict[str, Any]:
        """Choose a config option (ACP ``session/set_config_option``, or ``session/set_model`` for older agents).

        Returns:
            The answer; its ``configOptions``, when there, are all options as they are now.
        """
        if config_id == "model" and session_id in self._models:
            await self._peer.request("session/set_model", {"sessionId": session_id, "modelId": value})
            return {}
        params: dict[str, Any] = {"sessionId": session_id, "configId": config_id, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        return mapping(await self._peer.request("session/set_config_option", params))

    async def authenticate(self, method_id: str, timeout: float | None = None) -> None:
        """Log in with one of :attr:`auth_methods` (ACP ``authenticate``)."""
        await self._peer.request("authenticate", {"methodId": method_id}, timeout)

    async def close_session(self, session_id: str) -> None:
        """Free a session: its terminals end, nothing more is delivered, and the agent is told if it can be."""
        route = self._sessions.forget(session_id)
        self._models.discard(session_id)
        if route is not None:
            await route.terminals.close()
        if "close" in mapping(self.capabilities.get("sessionCapabilities")) and not self.closed:
            with contextlib.suppress(AgentnbError):
                await self._peer.request("session/close", {"sessionId": session_id}, _CLOSE_TIMEOUT)

    async def stop(self, patience: float = 2.5) -> None:
        """End the agent and everything it started; listeners of open sessions are told.

        Args:
            patience: How long, in seconds, it may take to leave by itself.
        """
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

    async def _open(self, method: str, params: dict[str, Any], listener: Listener, timeout: float | None) -> NewSession:
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[NewSession] = loop.create_future()
        known = str(params.get("sessionId", ""))

        def done(result: Any, error: AgentnbError | None) -> None:
            self._sessions.expected()
            if opened.done():
                return
            try:
                new = self._new_session(params, result, error)
            except AgentnbError as failure:
                opened.set_exception(failure)
                return
            if not known:
                route = self._sessions.open(new.session_id, listener, params["cwd"])
                loop.call_soon(loop.call_soon, route.release)  # behind the step in which the caller takes its answer
            opened.set_result(new)

        def too_late() -> None:
            if not opened.done():
                opened.set_exception(self._peer.no_answer(method, limit))

        if known:  # an old session is replayed before the answer
            self._sessions.open(known, listener, params["cwd"]).release()
        self._sessions.expect()
        self._peer.call(method, params, done)
        limit = self.spec.initialize_timeout if timeout is None else timeout
        late = loop.call_later(limit, too_late)
        try:
            return await opened
        except BaseException:
            self._sessions.forget(known)
            raise
        finally:
            late.cancel()

    def _new_session(self, params: dict[str, Any], result: Any, error: AgentnbError | None) -> NewSession:
        if error is not None:
            raise error
        answer = mapping(result)
        session_id = params.get("sessionId", answer.get("sessionId"))
        if not isinstance(session_id, str) or not session_id:
            raise ProtocolError(f"{self.spec.title} opened a session without an id.", hint="Is it an ACP agent?")
        if isinstance(answer.get("models"), dict):
            self._models.add(session_id)
        return NewSession(session_id=session_id, raw=answer)

    async def _serve(self, method: str, params: dict[str, Any]) -> Any:
        return await serve(method, params, self._sessions, self.spec.capabilities)

    async def _lost(self, reason: AgentnbError) -> None:
        await self._sessions.lose(reason)
