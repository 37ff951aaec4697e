"""Opening a session: a new one, or an old one that is loaded, resumed or forked."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.acp.sessions import NewSession
from agentnb.errors import AgentnbError, AgentRefused, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.acp.listener import Listener
    from agentnb.acp.peer import Peer
    from agentnb.acp.sessions import Route, Sessions


class Opening:
    """One request that opens a session.

    Args:
        peer: The agent.
        sessions: Its sessions, which the new one joins.
        method: ``session/new``, ``session/load``, ``session/resume`` or ``session/fork``.
        params: Its parameters.
        listener: Who hears what is said in the session.
        history: Whether what an old session replays is handed over; False for a host that has the transcript.
        on_unwanted: Called with the id of a session that the agent opened too late.
    """

    def __init__(
        self,
        peer: Peer,
        sessions: Sessions,
        method: str,
        params: dict[str, Any],
        listener: Listener,
        *,
        history: bool = True,
        on_unwanted: Callable[[str], None] | None = None,
    ) -> None:
        self._peer = peer
        self._on_unwanted = on_unwanted
        self._sessions = sessions
        self._method = method
        self._params = params
        self._listener = listener
        self._history = history
        self._known = str(params["sessionId"]) if method in {"session/load", "session/resume"} else ""
        self._opened: asyncio.Future[NewSession] = asyncio.get_running_loop().create_future()
        self._request = 0
        self._given_up = self._answered = False

    async def run(self, timeout: float | None) -> NewSession:
        """Ask, and wait for the answer.

        Args:
            timeout: The longest wait, in seconds; by default the spec's ``initialize_timeout``.

        Raises:
            AgentError: If the agent refuses, does not answer, or is gone.
        """
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
        lent = self._params.get("additionalDirectories", ())
        return self._sessions.open(session_id, self._listener, self._params["cwd"], lent)

    def _unwanted(self, session_id: Any) -> None:
        """The agent opened a session that nobody waits for any more: it need not keep it."""
        if isinstance(session_id, str) and self._on_unwanted is not None:
            self._on_unwanted(session_id)

    def _taken(self) -> AgentRefused:
        """The agent was started anew and counts from the beginning: the id is another session's now."""
        return AgentRefused(f"The session {self._known!r} of {self._peer.spec.title} is another tab's.")

    def _too_late(self, limit: float) -> None:
        if not self._opened.done():
            self._opened.set_exception(self._peer.no_answer(self._method, limit))

    def _give_up(self) -> None:
        """Nobody wants the session any more; an answer that comes all the same is seen to by :meth:`_done`."""
        self._given_up = True
        self._peer.notify("$/cancel_request", {"requestId": self._request})

    def _read(self, result: Any, error: AgentnbError | None) -> NewSession:
        if error is not None:
            raise error
        answer = mapping(result)
        session_id = self._known or answer.get("sessionId")
        if not isinstance(session_id, str) or not session_id:
            title = self._peer.spec.title
            raise ProtocolError(f"{title} opened a session without an id.", hint="Is it an ACP agent?")
        return NewSession(session_id=session_id, raw=answer)
