"""The sessions of one agent: which session each update and request is for, and which service answers a request."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.acp.files import Files
from agentnb.acp.mapper import HISTORY, keep_raw, map_update, merge, permission_outcome
from agentnb.acp.mcp import MESSAGE
from agentnb.acp.questions import AcpPermissionRequest, map_elicitation
from agentnb.acp.terminals import Terminals
from agentnb.clock import now_ms
from agentnb.credentials import logger
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.rpc import answer_nothing
from agentnb.rpc_message import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence
    from logging import Logger

    from agentnb.acp.peer import SessionListener
    from agentnb.agent.catalog import Capabilities
    from agentnb.errors import AgentnbError

log: Logger = logger("agentnb.acp")

EARLY = 10_000
"""The most updates kept for a session that is not known yet; the oldest are dropped first."""


def deliver(updates: list[dict[str, Any]], listener: SessionListener) -> None:
    """Deliver ACP *updates* to *listener* in order; consecutive chunks of one text are merged."""
    for update in merge(updates):
        listener.actions(map_update(update, listener.chat, listener.speaking, now_ms()))


class Route:
    """The listener of one session, and the services that it may use."""

    def __init__(
        self,
        listener: SessionListener,
        cwd: str | Path,
        directories: Iterable[str] = (),
        confined: Callable[[Sequence[str]], list[str]] = list,
    ) -> None:
        workspace = WorkspaceBoundary(Path(cwd), directories)
        self.listener = listener
        self.files: Files = Files(workspace, listener)
        self.terminals: Terminals = Terminals(workspace, listener, confined)
        self.held: list[dict[str, Any]] | None = []

    def deliver(self, updates: list[dict[str, Any]]) -> None:
        """Hand *updates* to the listener, or hold them until :meth:`release`."""
        if self.held is not None:
            self.held += updates
        elif updates:
            deliver(updates, self.listener)

    def release(self, *, history: bool = True) -> None:
        """Hand over the held updates and stop holding: the host knows its session now."""
        held, self.held = self.held or [], None
        self.deliver([update for update in held if history or update.get("sessionUpdate") not in HISTORY])


class Sessions:
    """The open sessions of one agent, and the updates that arrived before their session was known."""

    def __init__(self, confined: Callable[[Sequence[str]], list[str]] = list) -> None:
        self._confined = confined
        self._routes: dict[str, Route] = {}
        self._early: dict[str, list[dict[str, Any]]] = {}
        self._opening = 0
        self._changed: asyncio.Future[None] | None = None
        self.asking: dict[int, SessionListener] = {}
        self.with_models: set[str] = set()

    def deliver(self, notifications: list[tuple[str, Any]]) -> None:
        """Route the notifications of one read; those of one session stay together and in order.

        A notification other than ``session/update`` becomes an update of its own kind, so that it is kept and shown,
        too.
        """
        by_session: dict[str, list[dict[str, Any]]] = {}
        for method, params in notifications:
            session = params.get("sessionId") if isinstance(params, dict) else None
            if method == MESSAGE:
                continue  # no notification of MCP concerns a server of tools
            if method == "elicitation/complete" and isinstance(params, dict):
                self._elicited(params.get("elicitationId"))
            elif isinstance(session, str):
                by_session.setdefault(session, []).append(_update(method, params))
            else:
                for listener in self.listeners():
                    listener.extension(method, params)
        for session, updates in by_session.items():
            self._deliver(session, updates)

    def _elicited(self, elicitation_id: Any) -> None:
        if isinstance(elicitation_id, str):
            for listener in self.listeners():
                listener.elicited(elicitation_id)

    def listeners(self) -> list[SessionListener]:
        """All current listeners, including those whose session is still being opened."""
        listeners = [*(route.listener for route in self._routes.values()), *self.asking.values()]
        return list({id(listener): listener for listener in listeners}.values())

    def _deliver(self, session: str, updates: list[dict[str, Any]]) -> None:
        route = self._routes.get(session)
        if route is not None:
            route.deliver(updates)
        elif self._opening:
            early = self._early.setdefault(session, [])
            early += updates
            if len(early) > EARLY:
                log.warning("session %s sent more than %d updates before it was known", session, EARLY)
                del early[:-EARLY]

    def expect(self) -> None:
        """Note that a session is about to be opened: updates with unknown ids may belong to it."""
        self._opening += 1

    def expected(self) -> None:
        """Note that one opening was answered, successfully or not; :meth:`open` follows at once, or never."""
        self._opening -= 1
        asyncio.get_running_loop().call_soon(self._settle)

    def open(self, session: str, listener: SessionListener, cwd: str | Path, directories: Iterable[str] = ()) -> Route:
        """Add the session; its updates are held until the host has its answer."""
        route = self._routes[session] = Route(listener, cwd, directories, self._confined)
        route.deliver(self._early.pop(session, []))
        return route

    def release(self, session: str, *, history: bool) -> None:
        """Hand over the updates held for *session* (see :meth:`Route.release`)."""
        route = self._routes.get(session)
        if route is not None:
            route.release(history=history)

    def _settle(self) -> None:
        if not self._opening:
            self._early.clear()
        self._change()

    def forget(self, session: str, listener: SessionListener | None = None) -> Route | None:
        """Remove the closed session: nothing more is delivered."""
        if listener is not None and not self.holds(session, listener):
            return None
        self.with_models.discard(session)
        return self._routes.pop(session, None)

    def holds(self, session: str, listener: SessionListener) -> bool:
        """True if *session* is open, and is *listener*'s: a new process may give an old id to another."""
        route = self._routes.get(session)
        return route is not None and route.listener is listener

    def is_open(self, session: str) -> bool:
        """True if *session* is open, whichever listener it belongs to."""
        return session in self._routes

    async def lose(self, reason: AgentnbError) -> None:
        """The agent is gone: tell every listener, end every terminal."""
        routes, self._routes = list(self._routes.values()), {}
        self._change()
        for route in routes:
            try:
                route.listener.lost(reason)
            except Exception:
                log.exception("a listener failed")
        await asyncio.gather(*(route.terminals.close() for route in routes))

    async def listener(self, params: dict[str, Any]) -> SessionListener:
        """The listener that *params* concern: their session's, or the one that sent the request they name."""
        request = params.get("requestId")
        if "sessionId" in params or request is None:
            return (await self.route(params)).listener
        session = self.asking.get(request) if isinstance(request, int) else None
        session = session or next(iter(self.listeners()), None)
        if session is None:
            raise RpcError(INVALID_PARAMS, f"There is no request {request!r}.")
        return session

    async def extender(self, method: str, params: dict[str, Any]) -> SessionListener:
        """Returns the listener that answers the extension *method*: its session's, or the first that supports it."""
        there = [(await self.route(params)).listener] if "sessionId" in params else self.listeners()
        matching = next((listener for listener in there if listener.answers(method)), None)
        if matching is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})
        return matching

    async def route(self, params: dict[str, Any]) -> Route:
        """Returns the route of the session in *params*; a request that comes early waits for its session."""
        session = params.get("sessionId")
        while True:
            route = self._routes.get(session) if isinstance(session, str) else None
            if route is not None:
                return route
            if not self._opening:
                raise RpcError(INVALID_PARAMS, f"There is no session {session!r}.")
            if self._changed is None or self._changed.done():
                self._changed = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._changed)  # cancelling one waiter must not cancel the others

    def _change(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)


def _update(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A notification of one session as an update; one that cannot be read is kept whole under its method's name."""
    update = params.get("update")
    if method == "session/update" and isinstance(update, dict):
        return update
    return {"sessionUpdate": method, "params": params}


def client_capabilities(offered: Capabilities) -> dict[str, Any]:
    """Returns the capabilities declared to the agent (ACP ``ClientCapabilities``)."""
    files = {"readTextFile": offered.read_text_file, "writeTextFile": offered.write_text_file}
    capabilities: dict[str, Any] = {"fs": files, "terminal": offered.terminal}
    if offered.terminal:  # some agents send their own terminals' output only to clients that show it
        capabilities["_meta"] = {"terminal_output": True}
    if offered.elicitation:
        capabilities["elicitation"] = {"form": {}, "url": {}}
    session: dict[str, Any] = {"notices": {}, "compaction": {}}
    if offered.boolean_options:
        session["configOptions"] = {"boolean": {}}
    if offered.prompt_suggestions:
        session["promptSuggestions"] = {}
    capabilities["session"] = session
    if offered.terminal_login:
        capabilities["auth"] = {"terminal": True}
    return capabilities


async def serve(method: str, params: dict[str, Any], sessions: Sessions, offered: Capabilities) -> Any:
    if method.startswith("_"):
        return await (await sessions.extender(method, params)).extended(method, params)
    if not _offers(method, offered):
        return answer_nothing(method, params)
    if method == "elicitation/create":
        return await _elicit(params, await sessions.listener(params))
    route = await sessions.route(params)
    if method == "session/request_permission":
        return permission_outcome(await route.listener.permission(AcpPermissionRequest(params)))
    services: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
        "fs/read_text_file": route.files.read,
        "fs/write_text_file": route.files.write,
        "terminal/create": route.terminals.create,
        "terminal/output": route.terminals.output,
        "terminal/wait_for_exit": route.terminals.wait_for_exit,
        "terminal/kill": route.terminals.kill,
        "terminal/release": route.terminals.release,
    }
    return await services[method](params)


async def _elicit(params: dict[str, Any], listener: SessionListener) -> dict[str, Any]:
    """Answer ``elicitation/create``; a request that cannot be shown is kept as it is in the running turn."""
    try:
        question = map_elicitation(params)
    except RpcError:
        if listener.chat.active_turn is not None:
            listener.actions(keep_raw("elicitation/create", params, listener.chat, now_ms()))
        raise
    return (await listener.elicit(question)).to_acp(question)


def _offers(method: str, offered: Capabilities) -> bool:
    match method:
        case "session/request_permission":
            return True
        case "elicitation/create":
            return offered.elicitation
        case "fs/read_text_file":
            return offered.read_text_file
        case "fs/write_text_file":
            return offered.write_text_file
        case "terminal/create" | "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
            return offered.terminal
        case _:
            return False
