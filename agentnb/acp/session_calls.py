"""What can be asked of an agent about its sessions: open, load, resume, fork, list, prompt, cancel, set, close."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.acp.listing import Page, read_page
from agentnb.acp.opening import Opening
from agentnb.acp.session_words import has_legacy_models_only
from agentnb.acp.sessions import NewSession, Sessions
from agentnb.errors import AgentnbError, NotOffered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.acp.listener import Listener
    from agentnb.acp.peer import Done, Peer

_CLOSE_TIMEOUT = 5.0
_ABILITIES = {
    "load": ("open an old session", "Start a new one."),
    "fork": ("copy a session", "Start a new one, and tell it what it needs to know."),
    "list": ("list its sessions", "`agentnb.sessions()` lists those that were had here."),
    "delete": ("delete a session", "Delete it with the agent's own program."),
    "logout": ("log out", "Log out with the agent's own program."),
}
"""What is not offered, in words, and what to do instead."""


class SessionCalls:
    """The half of :class:`agentnb.acp.agent.Agent` that is about sessions.

    Attributes:
        capabilities: The agent's ``agentCapabilities``, as sent.
    """

    _peer: Peer

    def __init__(self) -> None:
        self.capabilities: dict[str, Any] = {}
        self._models: set[str] = set()
        self._sessions = Sessions()

    def offers(self, ability: str) -> bool:
        """Whether the agent can do something with sessions that not every agent can.

        Args:
            ability: ``"load"``, or a name in ACP's ``sessionCapabilities``: ``"resume"``, ``"fork"``, ``"list"``,
                ``"close"``, ``"delete"``, ``"additionalDirectories"``; or ``"logout"``.
        """
        if ability == "load":
            return self.capabilities.get("loadSession") is True
        if ability == "logout":
            return mapping(self.capabilities.get("auth")).get("logout") is not None
        return mapping(self.capabilities.get("sessionCapabilities")).get(ability) is not None

    def demand(self, ability: str) -> None:
        """Insist on what :meth:`offers` tells of.

        Raises:
            NotOffered: If the agent does not offer it; the message says what to do instead.
        """
        self.demand_any(ability)

    def demand_any(self, *abilities: str) -> None:
        """As :meth:`demand`, where one of several will do.

        Raises:
            NotOffered: If the agent offers none of them.
        """
        if not any(map(self.offers, abilities)):
            what, instead = _ABILITIES[abilities[-1]]
            raise NotOffered(f"{self._peer.spec.title} does not offer to {what}.", hint=instead)

    async def new_session(
        self,
        cwd: str,
        mcp_servers: Sequence[dict[str, Any]],
        listener: Listener,
        *,
        directories: Sequence[str] = (),
        timeout: float | None = None,
    ) -> NewSession:
        """Open a session (ACP ``session/new``).

        Updates that come before the answer are kept, and delivered right after the caller got it.

        Args:
            cwd: Absolute path of the workspace; file access is confined to it.
            mcp_servers: MCP servers for the agent, as ACP wants them.
            listener: Who hears what is said.
            directories: More folders to work in (ACP ``additionalDirectories``), where the agent offers that.
            timeout: The longest wait, in seconds; by default the spec's ``initialize_timeout``.

        Raises:
            AuthenticationRequired: If the agent wants a login first; its methods are named.
            AgentError: If it refuses, does not answer, or is gone.
        """
        return await self._open("session/new", self._setup(cwd, mcp_servers, directories), listener, timeout)

    async def load_session(
        self,
        session_id: str,
        cwd: str,
        mcp_servers: Sequence[dict[str, Any]],
        listener: Listener,
        *,
        directories: Sequence[str] = (),
        history: bool = True,
    ) -> NewSession:
        """Open an old session; *listener* hears all of it again (ACP ``session/load``).

        Args:
            session_id: The agent's id of it.
            cwd: As for :meth:`new_session`.
            mcp_servers: As for :meth:`new_session`.
            listener: Who hears what is said.
            directories: As for :meth:`new_session`.
            history: False where the listener has the transcript: then of what is replayed it hears only how the
                session is now (commands, mode, options, title, usage).

        Raises:
            AgentError: If it refuses, does not answer, or is gone.
        """
        params = {"sessionId": session_id, **self._setup(cwd, mcp_servers, directories)}
        return await self._open("session/load", params, listener, history=history)

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        mcp_servers: Sequence[dict[str, Any]],
        listener: Listener,
        *,
        directories: Sequence[str] = (),
    ) -> NewSession:
        """Go on with an old session without hearing it again (ACP ``session/resume``).

        Raises:
            AgentError: If it refuses, does not answer, or is gone.
        """
        params = {"sessionId": session_id, **self._setup(cwd, mcp_servers, directories)}
        return await self._open("session/resume", params, listener, history=False)

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        mcp_servers: Sequence[dict[str, Any]],
        listener: Listener,
        *,
        directories: Sequence[str] = (),
        history: bool = True,
    ) -> NewSession:
        """Open a copy of a session that goes its own way (ACP ``session/fork``).

        Args:
            session_id: The agent's id of the session that is copied.
            cwd: As for :meth:`new_session`.
            mcp_servers: As for :meth:`new_session`.
            listener: Who hears what is said.
            directories: As for :meth:`new_session`.
            history: As for :meth:`load_session`: some agents say the whole conversation again.

        Raises:
            NotOffered: If the agent cannot.
            AgentError: If it refuses, does not answer, or is gone.
        """
        self.demand("fork")
        params = {"sessionId": session_id, **self._setup(cwd, mcp_servers, directories)}
        return await self._open("session/fork", params, listener, history=history)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> Page:
        """The sessions that the agent keeps, one page of them (ACP ``session/list``).

        Args:
            cwd: Only those of this folder.
            cursor: Where the page begins: the ``next_cursor`` of the one before; None for the first.

        Raises:
            NotOffered: If the agent cannot.
            AgentError: If it refuses, does not answer, or is gone.
        """
        self.demand("list")
        params = {name: value for name, value in (("cwd", cwd), ("cursor", cursor)) if value is not None}
        return read_page(mapping(await self._peer.request("session/list", params)))

    async def delete_session(self, session_id: str) -> None:
        """Make the agent forget an old session for good (ACP ``session/delete``).

        Raises:
            NotOffered: If the agent cannot.
            AgentError: If it refuses, does not answer, or is gone.
        """
        self.demand("delete")
        await self._peer.request("session/delete", {"sessionId": session_id})

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

    async def close_session(self, session_id: str) -> None:
        """Free a session: its terminals end, nothing more is delivered, and the agent is told if it can be."""
        route = self._sessions.forget(session_id)
        self._models.discard(session_id)
        if route is not None:
            await route.terminals.close()
        if self.offers("close") and not self._peer.closed:
            with contextlib.suppress(AgentnbError):
                await self._peer.request("session/close", {"sessionId": session_id}, _CLOSE_TIMEOUT)

    # --- inside ---

    def _setup(self, cwd: str, mcp_servers: Sequence[dict[str, Any]], directories: Sequence[str]) -> dict[str, Any]:
        setup: dict[str, Any] = {"cwd": cwd, "mcpServers": list(mcp_servers)}
        if directories and self.offers("additionalDirectories"):
            setup["additionalDirectories"] = list(directories)
        return setup

    async def _open(
        self,
        method: str,
        params: dict[str, Any],
        listener: Listener,
        timeout: float | None = None,
        *,
        history: bool = True,
    ) -> NewSession:
        opening = Opening(
            self._peer, self._sessions, method, params, listener, history=history, on_unwanted=self._dismiss
        )
        new = await opening.run(timeout)
        if has_legacy_models_only(new.raw):
            self._models.add(new.session_id)
        return new

    def _dismiss(self, session_id: str) -> None:
        """Close a session that came too late; whether that works is nobody's concern."""
        if self.offers("close"):
            self._peer.call("session/close", {"sessionId": session_id}, lambda *_: None)
