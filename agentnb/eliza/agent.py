"""The agent as ACP sees it: every method that a client may call."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from agentnb.eliza import attachment
from agentnb.eliza.answer import answer
from agentnb.eliza.client import Client
from agentnb.eliza.client_requests import (
    Authenticate,
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
    SetMode,
    TurnEnd,
    reachable,
)
from agentnb.eliza.commands import listed
from agentnb.eliza.content import read_blocks
from agentnb.eliza.introduction import LOGIN, introduction
from agentnb.eliza.reply import Reply
from agentnb.eliza.rpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RequestError
from agentnb.eliza.schema import SessionParams, read_params
from agentnb.eliza.session import Session
from agentnb.eliza.settings import UnknownSetting
from agentnb.eliza.updates import AvailableCommand, AvailableCommands, ChangedInfo, CommandInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from agentnb.eliza.commands import Command
    from agentnb.eliza.content import ContentBlock
    from agentnb.eliza.rpc import Connection, Method
    from agentnb.eliza.settings import ConfigOption
    from agentnb.eliza.store import Record, Store

_T = TypeVar("_T")

AUTHENTICATION_REQUIRED, NOT_FOUND = -32000, -32002
PAGE = 50
"""How many sessions one answer to `session/list` holds at most."""


class Eliza:
    """The built-in agent.

    Args:
        store: Where sessions are kept.
        connection: The conversation with the client.
        version: What it tells as its own.
        wants_login: Whether it refuses new sessions until `authenticate` was called.
    """

    def __init__(self, store: Store, connection: Connection, *, version: str, wants_login: bool) -> None:
        self._store = store
        self._connection = connection
        self._client = Client(connection)
        self._version = version
        self._wants_login = wants_login
        self._login_offered = wants_login
        self._capabilities = ClientCapabilities()
        self._sessions: dict[str, Session] = {}
        self._deleted: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def methods(self) -> Mapping[str, Method]:
        """What answers requests, by their method."""
        return {
            "initialize": _taking(Initialize, self.initialize),
            "authenticate": _taking(Authenticate, self.authenticate),
            "logout": self.logout,
            "session/new": _taking(NewSession, self.new_session),
            "session/load": _taking(LoadSession, self.load_session),
            "session/resume": _taking(OpenSession, self.resume_session),
            "session/fork": _taking(OpenSession, self.fork_session),
            "session/list": _taking(ListSessions, self.list_sessions),
            "session/close": _taking(SessionParams, self.close_session),
            "session/delete": _taking(SessionParams, self.delete_session),
            "session/set_mode": _taking(SetMode, self.set_mode),
            "session/set_config_option": _taking(SetConfigOption, self.set_config_option),
            "session/prompt": _taking(Prompt, self.prompt),
            "_eliza/echo": self.echo,
        }

    @property
    def notifications(self) -> Mapping[str, Method]:
        """What takes notifications, by their method."""
        return {"session/cancel": _taking(SessionParams, self.cancel)}

    # -- the connection -----------------------------------------------------------------------------------------------

    async def initialize(self, params: Initialize) -> dict[str, Any]:
        """ACP `initialize`: the only version known is 1, whatever the client asks for."""
        self._capabilities = params.client_capabilities or ClientCapabilities()
        return introduction(self._version, login=self._login_offered)

    async def authenticate(self, params: Authenticate) -> dict[str, Any]:
        """ACP `authenticate`: believes everybody."""
        if not self._login_offered or params.method_id != LOGIN["id"]:
            raise RequestError(INVALID_PARAMS, f"There is no login method `{params.method_id}`.")
        self._wants_login = False
        return {}

    async def logout(self, _: object) -> dict[str, Any]:
        """ACP `logout`: new sessions want a login again."""
        if not self._login_offered:
            raise RequestError(METHOD_NOT_FOUND, "Nobody has to log in here, so nobody can log out.")
        self._wants_login = True
        return {}

    async def echo(self, params: object) -> dict[str, Any]:
        """The extension method `_eliza/echo` gives back what it got."""
        return {"echo": params if isinstance(params, dict) else {}}

    # -- sessions -----------------------------------------------------------------------------------------------------

    async def new_session(self, params: NewSession) -> OpenedSession:
        """ACP `session/new`; the commands are told right after the answer."""
        if self._wants_login:
            raise RequestError(AUTHENTICATION_REQUIRED, "Authentication required: lie down on the couch first.")
        session = self._open(Session(self._store.new_id(), Path(params.cwd)), params.mcp_servers)
        return self._opened(session, session.session_id)

    async def load_session(self, params: LoadSession) -> OpenedSession:
        """ACP `session/load`: replays the whole conversation, then answers."""
        session = self._restore(params)
        await self._replay(session)
        return self._opened(session)

    async def resume_session(self, params: OpenSession) -> OpenedSession:
        """ACP `session/resume`: goes on where the conversation stopped, without a replay."""
        return self._opened(self._restore(params))

    async def fork_session(self, params: OpenSession) -> OpenedSession:
        """ACP `session/fork`: a new session that knows everything said so far."""
        record = {**self._record(params.session_id), "session_id": self._store.new_id(), "cwd": params.cwd}
        session = self._open(Session.restore(record), params.mcp_servers)
        return self._opened(session, session.session_id)

    async def list_sessions(self, params: ListSessions) -> SessionList:
        """ACP `session/list`: the latest first, `PAGE` at a time."""
        sessions = [Session.restore(record) for record in reversed(self._store.records())]
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

    async def set_mode(self, params: SetMode) -> dict[str, Any]:
        """ACP `session/set_mode`."""
        session = self._session(params.session_id)
        try:
            session.settings.set_mode(params.mode_id)
        except UnknownSetting as unknown:
            raise RequestError(INVALID_PARAMS, str(unknown)) from None
        self._store.save(session.record())
        return {}

    async def set_config_option(self, params: SetConfigOption) -> ConfigOptions:
        """ACP `session/set_config_option`; answers with all options as they are now."""
        session = self._session(params.session_id)
        try:
            session.settings.set_option(params.config_id, params.value)
        except UnknownSetting as unknown:
            raise RequestError(INVALID_PARAMS, str(unknown)) from None
        self._store.save(session.record())
        return ConfigOptions(config_options=self._options(session))

    # -- turns --------------------------------------------------------------------------------------------------------

    async def prompt(self, params: Prompt) -> TurnEnd:
        """ACP `session/prompt`: one turn, run as a task so that `cancel` can end it at any point."""
        blocks = read_blocks(params.prompt)
        session = self._session(params.session_id)
        if session.running:
            raise _running(params.session_id)
        reply = self._reply(session, blocks)
        session.start(answer(reply, attachment.words(blocks)))
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

    def _session(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            raise RequestError(INVALID_PARAMS, f"There is no open session `{session_id}`.")
        return self._sessions[session_id]

    def _record(self, session_id: str) -> Record:
        record = self._store.load(session_id)
        if record is None:
            raise _no_session(session_id)
        return record

    def _save(self, session: Session) -> None:
        """Write it down, unless it was deleted while its turn ran."""
        if session.session_id not in self._deleted:
            self._store.save(session.record())

    def _restore(self, params: LoadSession | OpenSession) -> Session:
        known = self._sessions.get(params.session_id)
        if known and known.running:
            raise _running(params.session_id)
        record = {**self._record(params.session_id), "cwd": params.cwd}
        return self._open(Session.restore(record), params.mcp_servers)

    def _open(self, session: Session, mcp_servers: list[Any] | None) -> Session:
        session.mcp_servers = reachable(mcp_servers)
        self._sessions[session.session_id] = session
        self._store.save(session.record())
        task = asyncio.create_task(self._announce(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return session

    async def _announce(self, session: Session) -> None:
        commands = AvailableCommands(available_commands=[_available(command) for command in listed()])
        with contextlib.suppress(ConnectionError):  # the client left meanwhile
            await self._client.update(session.session_id, commands)

    async def _replay(self, session: Session) -> None:
        for exchange in session.exchanges:
            said = [{"content": block, "sessionUpdate": "user_message_chunk"} for block in exchange.prompt]
            for update in (*said, *exchange.updates):
                await self._client.update(session.session_id, update)
        if session.title:
            await self._client.update(session.session_id, ChangedInfo(title=session.title))

    def _reply(self, session: Session, prompt: list[ContentBlock]) -> Reply:
        return Reply(
            client=self._client,
            connection=self._connection,
            session=session,
            exchange=session.begin(msgspec.to_builtins(prompt)),
            attachments=attachment.attachments(prompt),
            capabilities=self._capabilities,
        )

    def _opened(self, session: Session, session_id: str | None = None) -> OpenedSession:
        return OpenedSession(
            session_id=session_id, modes=session.settings.modes(), config_options=self._options(session)
        )

    def _options(self, session: Session) -> list[ConfigOption]:
        return session.settings.options(switches=self._capabilities.knows_switches)


def _taking(kind: type[_T], run: Callable[[_T], Awaitable[object]]) -> Method:
    """The method *run*, whose parameters have to be a *kind*."""

    async def method(params: object) -> object:
        return await run(read_params(kind, params))

    return method


def _available(command: Command) -> AvailableCommand:
    hint = CommandInput(hint=command.hint) if command.hint else None
    return AvailableCommand(name=command.name, description=command.summary, input=hint)


def _info(session: Session) -> SessionInfo:
    return SessionInfo(
        session_id=session.session_id, cwd=str(session.cwd), title=session.name, updated_at=session.updated_at
    )


def _no_session(session_id: str) -> RequestError:
    return RequestError(NOT_FOUND, f"There is no session `{session_id}`.")


def _running(session_id: str) -> RequestError:
    return RequestError(INVALID_REQUEST, f"A turn is running in `{session_id}`; wait for its end, or cancel it.")
