"""Opening a session: a new one, or an old one that is loaded, resumed or forked."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.acp.fields import mapping, text
from agentnb.acp.mcp import ServedMcpServer
from agentnb.acp.session_words import has_legacy_models_only, map_session
from agentnb.agent.mcp import McpServer
from agentnb.errors import AgentnbError, AgentRefused, ProtocolError
from agentnb.state import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.acp.listener import SessionListener
    from agentnb.acp.peer import Peer
    from agentnb.acp.sessions import Route, Sessions


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The session to open."""

    cwd: str
    way: Literal["new", "load", "resume", "fork"] = "new"
    former: str = ""
    mcp_servers: tuple[McpServer | ServedMcpServer, ...] = ()
    directories: tuple[str, ...] = ()
    history: bool = True
    path: str | None = None


class SessionOpened(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    actions: tuple[Action, ...]
    unreachable: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    refused_directories: tuple[str, ...] = ()
    problem: str | None = None


class Opening:
    """One request that opens a session."""

    def __init__(
        self,
        peer: Peer,
        sessions: Sessions,
        request: OpenRequest,
        params: dict[str, Any],
        listener: SessionListener,
        *,
        on_unwanted: Callable[[str], None],
    ) -> None:
        self._peer = peer
        self._on_unwanted = on_unwanted
        self._sessions = sessions
        self._method = f"session/{request.way}"
        self._params = params
        self._listener = listener
        self._cwd = request.cwd
        self._history = request.history and request.way != "resume"
        self._known = request.former if request.way in {"load", "resume"} else ""
        self._opened: asyncio.Future[SessionOpened] = asyncio.get_running_loop().create_future()
        self._request = 0
        self._given_up = self._answered = False

    async def run(self, timeout: float | None) -> SessionOpened:
        """Ask, and wait for the answer."""
        if self._known:  # an old session is replayed before the answer
            if self._sessions.is_open(self._known):
                raise self._taken()
            route = self._open(self._known)
            if self._history:
                route.release()
        self._sessions.expect()
        self._request = self._peer.call(self._method, self._params, self._done)
        if not self._opened.done():
            self._sessions.asking[self._request] = self._listener
        limit = self._peer.spec.initialize_timeout if timeout is None else timeout
        late = asyncio.get_running_loop().call_later(limit, self._too_late, limit)
        try:
            return await self._opened
        except BaseException:
            self._sessions.forget(self._known, self._listener)
            if not self._answered:
                self._give_up()
            raise
        finally:
            late.cancel()
            self._sessions.asking.pop(self._request, None)

    def _done(self, result: Any, error: AgentnbError | None) -> None:
        self._answered = True
        self._sessions.expected()
        if self._given_up or self._opened.done():
            self._unwanted(mapping(result).get("sessionId"))
            return
        try:
            new = self._read(result, error)
        except AgentnbError as failure:
            self._opened.set_exception(failure)
            return
        loop = asyncio.get_running_loop()
        if not self._known:
            route = self._open(new.session_id)
            # behind the step in which the caller takes its answer
            loop.call_soon(loop.call_soon, partial(route.release, history=self._history))
        elif not self._sessions.holds(self._known, self._listener):
            self._opened.set_exception(self._taken())
            return
        elif not self._history:
            self._sessions.release(self._known, history=False)
        self._opened.set_result(new)

    def _open(self, session_id: str) -> Route:
        directories = self._params.get("additionalDirectories", ())
        return self._sessions.open(session_id, self._listener, self._cwd, directories)

    def _unwanted(self, session_id: Any) -> None:
        """The agent opened a session that nobody waits for any more: it need not keep it."""
        if isinstance(session_id, str):
            self._on_unwanted(session_id)

    def _taken(self) -> AgentRefused:
        """The agent was started anew and counts from the beginning: the id is another session's now."""
        return AgentRefused(f"The session {self._known!r} of {self._peer.spec.title} belongs to another tab.")

    def _too_late(self, limit: float) -> None:
        if not self._opened.done():
            self._opened.set_exception(self._peer.failures.no_answer(self._method, limit))

    def _give_up(self) -> None:
        """Nobody wants the session any more; an answer that comes all the same is seen to by :meth:`_done`."""
        self._given_up = True
        self._peer.notify("$/cancel_request", {"requestId": self._request})

    def _read(self, result: Any, error: AgentnbError | None) -> SessionOpened:
        if error is not None:
            raise error
        answer = mapping(result)
        session_id = self._known or answer.get("sessionId")
        if not isinstance(session_id, str) or not session_id:
            title = self._peer.spec.title
            raise ProtocolError(f"{title} opened a session without an id.", hint="Check that it is an ACP agent.")
        if has_legacy_models_only(answer):
            self._sessions.with_models.add(session_id)
        problem = text(mapping(mapping(answer.get("_meta")).get("agentnb")).get("problem"))
        return SessionOpened(session_id=session_id, actions=map_session(answer), problem=problem)
