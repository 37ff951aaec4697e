"""Opens, loads and lists sessions (ACP ``session/new``, ``session/load``, ``session/list``)."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from agentnb.acp.fields import mapping, objects, text
from agentnb.acp.mcp import ServedMcpServer
from agentnb.acp.updates import has_legacy_models_only, map_session
from agentnb.agent.mcp import McpServer
from agentnb.errors import AgentnbError, AgentRefused, ProtocolError
from agentnb.state import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.acp.peer import Peer, SessionListener
    from agentnb.acp.sessions import Route, Sessions


class AgentSession(NamedTuple):
    """One session that an agent keeps (ACP ``SessionInfo``); listed by ``agentnb.history(kept_by=…)``."""

    id: str
    title: str  # empty if it has none
    cwd: str  # its folder; empty if the agent does not report it
    updated: datetime | None  # its last activity, in UTC; None if the agent does not report it
    agent: str
    raw: dict[str, Any]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    sessions: tuple[AgentSession, ...]
    next_cursor: str | None = None


def read_page(answer: dict[str, Any], agent: str) -> Page:
    """Read the answer to ``session/list``; a session without an id is ignored."""
    rows = [
        _session(each, name, agent) for each in objects(answer.get("sessions")) if (name := text(each.get("sessionId")))
    ]
    return Page(sessions=tuple(rows), next_cursor=text(answer.get("nextCursor")))


def _session(each: dict[str, Any], session_id: str, agent: str) -> AgentSession:
    title, cwd = text(each.get("title")) or "", text(each.get("cwd")) or ""
    return AgentSession(session_id, title, cwd, _moment(text(each.get("updatedAt"))), agent, each)


def _moment(timestamp: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat((timestamp or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment.astimezone(timezone.utc) if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


class OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
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
        if self._known:  # the agent replays an old session before it answers
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
            if not self._answered:  # `_done` handles a late answer
                self._given_up = True
                self._peer.notify("$/cancel_request", {"requestId": self._request})
            raise
        finally:
            late.cancel()
            self._sessions.asking.pop(self._request, None)

    def _done(self, result: Any, error: AgentnbError | None) -> None:
        self._answered = True
        self._sessions.expected()
        if self._given_up or self._opened.done():
            if isinstance(unwanted := mapping(result).get("sessionId"), str):  # nobody waits any more
                self._on_unwanted(unwanted)
            return
        try:
            new = self._read(result, error)
        except AgentnbError as failure:
            self._opened.set_exception(failure)
            return
        loop = asyncio.get_running_loop()
        if not self._known:
            route = self._open(new.session_id)
            # after the step in which the caller receives the answer
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

    def _taken(self) -> AgentRefused:
        """The error for an id that a restarted agent, which counts from the beginning, has given to another session."""
        return AgentRefused(f"The session {self._known!r} of {self._peer.spec.title} belongs to another tab.")

    def _too_late(self, limit: float) -> None:
        if not self._opened.done():
            self._opened.set_exception(self._peer.failures.no_answer(self._method, limit))

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
