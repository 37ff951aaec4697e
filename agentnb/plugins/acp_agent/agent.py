"""The ACP methods that all of agentnb's own agents answer in the same way: their sessions and turns."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentnb.plugins.acp_agent.client_requests import (
    ClientCapabilities,
    Initialize,
    ListSessions,
    LoadSession,
    NewSession,
    OpenSession,
    Prompt,
    SetConfigOption,
    reachable,
)
from agentnb.plugins.acp_agent.content import SessionParams, fields, read_blocks, read_params
from agentnb.plugins.acp_agent.session import AcpSession
from agentnb.plugins.acp_agent.updates import update
from agentnb.rpc_message import INVALID_PARAMS, INVALID_REQUEST, RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from agentnb.plugins.acp_agent.client import AcpClient, Method
    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.reply import AcpReply
    from agentnb.plugins.acp_agent.session import SessionRecord, SessionStore

    Answer = dict[str, Any]

NOT_FOUND = -32002
PAGE = 50
"""The most sessions in one answer to `session/list`."""

_S = TypeVar("_S", bound=AcpSession)
_T = TypeVar("_T")


class AcpAgent(Generic[_S]):
    """An agent as ACP sees it."""

    name: str
    title: str
    session_class: type[_S]
    commands: tuple[dict[str, Any], ...]

    def __init__(self, store: SessionStore, client: AcpClient, *, version: str) -> None:
        self._store = store
        self._client = client
        self._version = version
        self._capabilities = ClientCapabilities()
        self._sessions: dict[str, _S] = {}
        self._deleted: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def methods(self) -> Mapping[str, Method]:
        """Returns the coroutine functions that answer requests, by method name."""
        return {
            "initialize": taking(Initialize, self.initialize),
            "session/new": taking(NewSession, self.new_session),
            "session/load": taking(LoadSession, self.load_session),
            "session/resume": taking(OpenSession, self.resume_session),
            "session/fork": taking(OpenSession, self.fork_session),
            "session/list": taking(ListSessions, self.list_sessions),
            "session/close": taking(SessionParams, self.close_session),
            "session/delete": taking(SessionParams, self.delete_session),
            "session/set_config_option": taking(SetConfigOption, self.set_config_option),
            "session/prompt": taking(Prompt, self.prompt),
        }

    # -- what each agent has of its own -------------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Learns what must be known before the options of a session can be given."""

    def options(self, session: _S) -> list[dict[str, Any]]:
        raise NotImplementedError

    async def set_option(self, session: _S, option_id: str, value: str | bool) -> None:
        raise NotImplementedError

    def opened(self, session: _S) -> Answer:
        """Returns the result of a request that has opened *session*, without the session's id."""
        return {"configOptions": self.options(session)}

    def answer(self, session: _S, prompt: list[ContentBlock]) -> tuple[AcpReply, Coroutine[Any, Any, None]]:
        """Returns the reply to *prompt* in *session*, and the coroutine that produces it."""
        raise NotImplementedError

    # -- the connection -----------------------------------------------------------------------------------------------

    async def initialize(self, params: Initialize) -> Answer:
        """ACP `initialize`: the only version supported is 1, whatever the client asks for."""
        self._capabilities = params.client_capabilities or ClientCapabilities()
        capabilities = {
            "loadSession": True,
            "promptCapabilities": {"image": True, "embeddedContext": True},
            "mcpCapabilities": {"acp": True},
            "sessionCapabilities": {"list": {}, "delete": {}, "fork": {}, "resume": {}, "close": {}},
        }
        about = {"name": self.name, "title": self.title, "version": self._version}
        return {"protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": [], "agentInfo": about}

    # -- sessions -----------------------------------------------------------------------------------------------------

    async def new_session(self, params: NewSession) -> Answer:
        """ACP `session/new`; the commands are sent right after the response."""
        await self.prepare()
        return self._opened_anew(self.session_class(self._store.new_id(), Path(params.cwd)), params.mcp_servers)

    async def load_session(self, params: LoadSession) -> Answer:
        """ACP `session/load`: replays the whole conversation, then answers."""
        await self.prepare()
        session = self._restore(params)
        for each in session.replayed():
            await self._client.update(session.session_id, each)
        return self.opened(session)

    async def resume_session(self, params: OpenSession) -> Answer:
        """ACP `session/resume`: continues where the conversation stopped, without a replay."""
        await self.prepare()
        return self.opened(self._restore(params))

    async def fork_session(self, params: OpenSession) -> Answer:
        """ACP `session/fork`: creates a session that knows the whole conversation so far."""
        await self.prepare()
        record = {**self._record(params.session_id), "session_id": self._store.new_id(), "cwd": params.cwd}
        return self._opened_anew(self.session_class.restore(record), params.mcp_servers)

    async def list_sessions(self, params: ListSessions) -> Answer:
        """ACP `session/list`: the latest first, `PAGE` at a time."""
        sessions = [self.session_class.restore(record) for record in reversed(self._store.records())]
        wanted = [session for session in sessions if params.cwd is None or session.cwd == Path(params.cwd)]
        start = int(params.cursor) if params.cursor and params.cursor.isdecimal() else 0
        end = start + PAGE
        return fields(
            sessions=[session.info() for session in wanted[start:end]],
            next_cursor=str(end) if end < len(wanted) else None,
        )

    async def close_session(self, params: SessionParams) -> Answer:
        """ACP `session/close`: cancels the running turn; the conversation can still be loaded."""
        self._session(params.session_id).cancel()
        del self._sessions[params.session_id]
        return {}

    async def delete_session(self, params: SessionParams) -> Answer:
        """ACP `session/delete`: cancels the running turn and forgets everything."""
        session = self._sessions.pop(params.session_id, None)
        if session is not None:
            session.cancel()
        self._deleted.add(params.session_id)
        if not self._store.delete(params.session_id):
            raise _no_session(params.session_id)
        return {}

    async def set_config_option(self, params: SetConfigOption) -> Answer:
        """ACP `session/set_config_option`; responds with all options as they are now."""
        session = self._session(params.session_id)
        try:
            await self.set_option(session, params.config_id, params.value)
        except ValueError as unknown:
            raise RpcError(INVALID_PARAMS, str(unknown)) from None
        self._store.save(session.record())
        return {"configOptions": self.options(session)}

    # -- turns --------------------------------------------------------------------------------------------------------

    async def prompt(self, params: Prompt) -> Answer:
        """ACP `session/prompt`: one turn, run as a task so that `cancel` can end it at any point."""
        blocks = read_blocks(params.prompt)
        session = self._session(params.session_id)
        if session.running:
            raise _running(params.session_id)
        reply, turn = self.answer(session, blocks)
        try:
            await session.run(turn)
        finally:
            if session.session_id not in self._deleted:
                self._store.save(session.record())
        if session.cancelled:
            return {"stopReason": "cancelled"}
        return fields(stop_reason=reply.stop_reason, usage=reply.usage)

    async def cancel(self, params: SessionParams) -> None:
        session = self._sessions.get(params.session_id)
        if session:
            session.cancel()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _session(self, session_id: str) -> _S:
        if session_id not in self._sessions:
            raise RpcError(INVALID_PARAMS, f"There is no open session `{session_id}`.")
        return self._sessions[session_id]

    def _record(self, session_id: str) -> SessionRecord:
        record = self._store.load(session_id)
        if record is None:
            raise _no_session(session_id)
        return record

    def _restore(self, params: LoadSession | OpenSession) -> _S:
        known = self._sessions.get(params.session_id)
        if known and known.running:
            raise _running(params.session_id)
        record = {**self._record(params.session_id), "cwd": params.cwd}
        return self._open(self.session_class.restore(record), params.mcp_servers)

    def _opened_anew(self, session: _S, mcp_servers: list[Any] | None) -> Answer:
        self._open(session, mcp_servers)
        return {"sessionId": session.session_id, **self.opened(session)}

    def _open(self, session: _S, mcp_servers: list[Any] | None) -> _S:
        session.mcp_servers = reachable(mcp_servers)
        self._sessions[session.session_id] = session
        self._store.save(session.record())
        task = asyncio.create_task(self._announce(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return session

    async def _announce(self, session: _S) -> None:
        with contextlib.suppress(ConnectionError):  # the client left meanwhile
            commands = update("available_commands_update", available_commands=self.commands)
            await self._client.update(session.session_id, commands)


def taking(kind: type[_T], run: Callable[[_T], Awaitable[object]]) -> Method:
    """Returns the method *run*, whose parameters have to be a *kind*."""

    async def method(params: object) -> object:
        return await run(read_params(kind, params))

    return method


def slash_command(name: str, description: str, hint: str = "") -> dict[str, Any]:
    """Returns a slash command; *hint* describes the input that follows its name."""
    return fields(name=name, description=description, input={"hint": hint} if hint else None)


def _no_session(session_id: str) -> RpcError:
    return RpcError(NOT_FOUND, f"There is no session `{session_id}`.")


def _running(session_id: str) -> RpcError:
    return RpcError(INVALID_REQUEST, f"A turn is running in `{session_id}`; wait until it ends, or cancel it.")
