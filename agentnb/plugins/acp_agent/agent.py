"""The methods of ACP that every agent of ours answers in the same way: its sessions and its turns."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentnb.plugins.acp_agent.client_requests import (
    ClientCapabilities,
    ConfigOptions,
    Initialize,
    ListSessions,
    LoadSession,
    NewSession,
    OpenedSession,
    OpenSession,
    Prompt,
    SessionInfo,
    SessionList,
    SetConfigOption,
    TurnEnd,
    reachable,
)
from agentnb.plugins.acp_agent.content import read_blocks
from agentnb.plugins.acp_agent.schema import SessionParams, read_params
from agentnb.plugins.acp_agent.session import Session
from agentnb.plugins.acp_agent.updates import AvailableCommands, ChangedInfo
from agentnb.rpc_message import INVALID_PARAMS, INVALID_REQUEST, RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from agentnb.plugins.acp_agent.client import Client, Method
    from agentnb.plugins.acp_agent.config_options import ConfigOption, Modes
    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.reply import Reply
    from agentnb.plugins.acp_agent.store import Record, Store
    from agentnb.plugins.acp_agent.updates import AvailableCommand

PROTOCOL_VERSION = 1
NOT_FOUND = -32002
PAGE = 50
"""How many sessions one answer to `session/list` holds at most."""

_S = TypeVar("_S", bound=Session)
_T = TypeVar("_T")


class AcpAgent(Generic[_S]):
    """An agent as ACP sees it."""

    def __init__(self, store: Store, client: Client, *, version: str) -> None:
        self._store = store
        self._client = client
        self._version = version
        self._capabilities = ClientCapabilities()
        self._sessions: dict[str, _S] = {}
        self._deleted: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def methods(self) -> Mapping[str, Method]:
        """What answers requests, by their method."""
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

    @property
    def notifications(self) -> Mapping[str, Method]:
        """What takes notifications, by their method."""
        return {"session/cancel": taking(SessionParams, self.cancel)}

    # -- what each agent has of its own -------------------------------------------------------------------------------

    def introduction(self) -> dict[str, Any]:
        """The answer to `initialize`."""
        raise NotImplementedError

    def make_session(self, session_id: str, cwd: Path) -> _S:
        """A new session."""
        raise NotImplementedError

    def restore_session(self, record: Record) -> _S:
        """The session that gave *record*."""
        raise NotImplementedError

    def commands(self) -> list[AvailableCommand]:
        """Its slash commands."""
        raise NotImplementedError

    async def prepare(self) -> None:
        """What must be known before the options of a session can be told."""

    def modes(self, session: _S) -> Modes | None:
        """The modes of *session*; None where there are none."""
        raise NotImplementedError

    def options(self, session: _S) -> list[ConfigOption]:
        """The config options of *session*."""
        raise NotImplementedError

    def problem(self, session: _S) -> str | None:  # noqa: ARG002 - most can always answer
        """Why a prompt in *session* could not be answered now, and what to do; None where it could."""
        return None

    async def set_option(self, session: _S, option_id: str, value: str | bool) -> None:
        """Change an option of *session*."""
        raise NotImplementedError

    def answer(self, session: _S, prompt: list[ContentBlock]) -> tuple[Reply, Coroutine[Any, Any, None]]:
        """The answer to *prompt* in *session*, and what makes it."""
        raise NotImplementedError

    # -- the connection -----------------------------------------------------------------------------------------------

    async def initialize(self, params: Initialize) -> dict[str, Any]:
        """ACP `initialize`: the only version known is 1, whatever the client asks for."""
        self._capabilities = params.client_capabilities or ClientCapabilities()
        return self.introduction()

    # -- sessions -----------------------------------------------------------------------------------------------------

    async def new_session(self, params: NewSession) -> OpenedSession:
        """ACP `session/new`; the commands are told right after the answer."""
        await self.prepare()
        session = self._open(self.make_session(self._store.new_id(), Path(params.cwd)), params.mcp_servers)
        return self._opened(session, session.session_id)

    async def load_session(self, params: LoadSession) -> OpenedSession:
        """ACP `session/load`: replays the whole conversation, then answers."""
        await self.prepare()
        session = self._restore(params)
        await self._replay(session)
        return self._opened(session)

    async def resume_session(self, params: OpenSession) -> OpenedSession:
        """ACP `session/resume`: goes on where the conversation stopped, without a replay."""
        await self.prepare()
        return self._opened(self._restore(params))

    async def fork_session(self, params: OpenSession) -> OpenedSession:
        """ACP `session/fork`: a new session that knows everything said so far."""
        await self.prepare()
        record = {**self._record(params.session_id), "session_id": self._store.new_id(), "cwd": params.cwd}
        session = self._open(self.restore_session(record), params.mcp_servers)
        return self._opened(session, session.session_id)

    async def list_sessions(self, params: ListSessions) -> SessionList:
        """ACP `session/list`: the latest first, `PAGE` at a time."""
        sessions = [self.restore_session(record) for record in reversed(self._store.records())]
        wanted = [session for session in sessions if params.cwd is None or session.cwd == Path(params.cwd)]
        start = int(params.cursor) if params.cursor and params.cursor.isdecimal() else 0
        more = start + PAGE < len(wanted)
        return SessionList(
            sessions=[_info(session) for session in wanted[start : start + PAGE]],
            next_cursor=str(start + PAGE) if more else None,
        )

    async def close_session(self, params: SessionParams) -> dict[str, Any]:
        """ACP `session/close`: cancels what runs; the conversation can still be loaded."""
        self._session(params.session_id).cancel()
        del self._sessions[params.session_id]
        return {}

    async def delete_session(self, params: SessionParams) -> dict[str, Any]:
        """ACP `session/delete`: cancels what runs and forgets everything."""
        session = self._sessions.pop(params.session_id, None)
        if session is not None:
            session.cancel()
        self._deleted.add(params.session_id)
        if not self._store.delete(params.session_id):
            raise _no_session(params.session_id)
        return {}

    async def set_config_option(self, params: SetConfigOption) -> ConfigOptions:
        """ACP `session/set_config_option`; answers with all options as they are now."""
        session = self._session(params.session_id)
        try:
            await self.set_option(session, params.config_id, params.value)
        except ValueError as unknown:
            raise RpcError(INVALID_PARAMS, str(unknown)) from None
        self._store.save(session.record())
        return ConfigOptions(config_options=self.options(session))

    # -- turns --------------------------------------------------------------------------------------------------------

    async def prompt(self, params: Prompt) -> TurnEnd:
        """ACP `session/prompt`: one turn, run as a task so that `cancel` can end it at any point."""
        blocks = read_blocks(params.prompt)
        session = self._session(params.session_id)
        if session.running:
            raise _running(params.session_id)
        reply, turn = self.answer(session, blocks)
        session.start(turn)
        try:
            await session.finished()
        finally:
            self._save(session)
        if session.cancelled:
            return TurnEnd(stop_reason="cancelled")
        return TurnEnd(stop_reason=reply.stop_reason, usage=reply.usage)

    async def cancel(self, params: SessionParams) -> None:
        """ACP `session/cancel`."""
        session = self._sessions.get(params.session_id)
        if session:
            session.cancel()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _session(self, session_id: str) -> _S:
        if session_id not in self._sessions:
            raise RpcError(INVALID_PARAMS, f"There is no open session `{session_id}`.")
        return self._sessions[session_id]

    def _record(self, session_id: str) -> Record:
        record = self._store.load(session_id)
        if record is None:
            raise _no_session(session_id)
        return record

    def _save(self, session: _S) -> None:
        """Write it down, unless it was deleted while its turn ran."""
        if session.session_id not in self._deleted:
            self._store.save(session.record())

    def _restore(self, params: LoadSession | OpenSession) -> _S:
        known = self._sessions.get(params.session_id)
        if known and known.running:
            raise _running(params.session_id)
        record = {**self._record(params.session_id), "cwd": params.cwd}
        return self._open(self.restore_session(record), params.mcp_servers)

    def _open(self, session: _S, mcp_servers: list[Any] | None) -> _S:
        session.mcp_servers = reachable(mcp_servers)
        self._sessions[session.session_id] = session
        self._store.save(session.record())
        task = asyncio.create_task(self._announce(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return session

    async def _announce(self, session: _S) -> None:
        commands = AvailableCommands(available_commands=self.commands())
        with contextlib.suppress(ConnectionError):  # the client left meanwhile
            await self._client.update(session.session_id, commands)

    async def _replay(self, session: _S) -> None:
        for exchange in session.exchanges:
            said = [{"content": block, "sessionUpdate": "user_message_chunk"} for block in exchange.prompt]
            for update in (*said, *exchange.updates):
                await self._client.update(session.session_id, update)
        if session.title:
            await self._client.update(session.session_id, ChangedInfo(title=session.title))

    def _opened(self, session: _S, session_id: str | None = None) -> OpenedSession:
        problem = self.problem(session)
        return OpenedSession(
            session_id=session_id,
            modes=self.modes(session),
            config_options=self.options(session),
            meta=None if problem is None else {"agentnb": {"problem": problem}},
        )


def taking(kind: type[_T], run: Callable[[_T], Awaitable[object]]) -> Method:
    """The method *run*, whose parameters have to be a *kind*."""

    async def method(params: object) -> object:
        return await run(read_params(kind, params))

    return method


def _info(session: Session) -> SessionInfo:
    return SessionInfo(
        session_id=session.session_id, cwd=str(session.cwd), title=session.name, updated_at=session.updated_at
    )


def _no_session(session_id: str) -> RpcError:
    return RpcError(NOT_FOUND, f"There is no session `{session_id}`.")


def _running(session_id: str) -> RpcError:
    return RpcError(INVALID_REQUEST, f"A turn is running in `{session_id}`; wait for its end, or cancel it.")
