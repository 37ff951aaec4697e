"""The agent as ACP sees it: every method that a client may call.

The SDK's method names are kept (`acp.Agent`); it passes arguments by name, and those not needed are left unread. It
starts a task for each message it reads and sends what it is given in order, so whatever is queued before a method
returns comes before that method's answer, and what a task started by the method queues comes after it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import RequestError
from acp.helpers import update_available_commands
from acp.schema import (
    AuthenticateResponse,
    AvailableCommand,
    AvailableCommandInput,
    ClientCapabilities,
    CloseSessionResponse,
    DeleteSessionRequest,
    ForkSessionResponse,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    ResumeSessionResponse,
    SessionInfo,
    SessionInfoUpdate,
    SessionNotification,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    UnstructuredCommandInput,
)

from agentnb.eliza import attachment
from agentnb.eliza.answer import answer
from agentnb.eliza.commands import listed
from agentnb.eliza.introduction import LOGIN, introduction
from agentnb.eliza.mcp import reachable
from agentnb.eliza.reply import Reply
from agentnb.eliza.session import Session
from agentnb.eliza.settings import UnknownSetting, knows_switches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from acp import Client

    from agentnb.eliza.attachment import ContentBlock
    from agentnb.eliza.commands import Command
    from agentnb.eliza.extra_methods import Wire
    from agentnb.eliza.settings import ConfigOption
    from agentnb.eliza.store import Record, Store

    Servers = Sequence[Any] | None

PAGE = 50
"""How many sessions one answer to `session/list` holds at most."""


class Eliza:
    """The built-in agent.

    Args:
        store: Where sessions are kept.
        write: Puts raw bytes on the wire, between two messages; `/noise` needs it.
        wire: Asks the client what the SDK cannot; `/mcp` needs it.
        version: What it tells as its own.
        wants_login: Whether it refuses new sessions until `authenticate` was called.
    """

    def __init__(
        self, store: Store, write: Callable[[bytes], None], wire: Wire, *, version: str, wants_login: bool
    ) -> None:
        self._store = store
        self._wire = wire
        self._write = write
        self._version = version
        self._wants_login = wants_login
        self._login_offered = wants_login
        self._capabilities = ClientCapabilities()
        self._sessions: dict[str, Session] = {}
        self._deleted: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._client: Client | None = None

    def on_connect(self, conn: Client) -> None:
        """Remember the other side."""
        self._client = conn

    # -- the connection -----------------------------------------------------------------------------------------------

    async def initialize(self, client_capabilities: ClientCapabilities | None = None, **_: Any) -> InitializeResponse:
        """ACP `initialize`: the only version known is 1, whatever the client asks for."""
        self._capabilities = client_capabilities or ClientCapabilities()
        return introduction(self._version, login=self._login_offered)

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """ACP `authenticate`: believes everybody."""
        if not self._login_offered or method_id != LOGIN.id:
            raise _refusal(-32602, f"There is no login method `{method_id}`.")
        self._wants_login = False
        return AuthenticateResponse()

    async def logout(self, _: dict[str, Any]) -> dict[str, Any]:
        """ACP `logout`: new sessions want a login again."""
        if not self._login_offered:
            raise _refusal(-32601, "Nobody has to log in here, so nobody can log out.")
        self._wants_login = True
        return {}

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """ACP extension methods: `_eliza/echo` gives back what it got."""
        if method != "eliza/echo":
            raise RequestError.method_not_found(f"_{method}")
        return {"echo": params}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """ACP extension notifications: what eliza does not know is ignored."""

    @property
    def unrouted(self) -> dict[str, Any]:
        """What the SDK does not hand on: methods by name (see `agentnb.eliza.extra_methods`)."""
        return {"session/delete": self.delete_session, "logout": self.logout}

    # -- sessions -----------------------------------------------------------------------------------------------------

    async def new_session(self, cwd: str, mcp_servers: Servers = None, **_: Any) -> NewSessionResponse:
        """ACP `session/new`; the commands are told right after the answer."""
        if self._wants_login:
            raise _refusal(-32000, "Authentication required: lie down on the couch first.")
        session = self._open(Session(self._store.new_id(), Path(cwd)), mcp_servers)
        return NewSessionResponse(session_id=session.session_id, **self._offers(session))

    async def load_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, **_: Any
    ) -> LoadSessionResponse:
        """ACP `session/load`: replays the whole conversation, then answers."""
        session = self._restore(session_id, cwd, mcp_servers)
        await self._replay(session)
        return LoadSessionResponse(**self._offers(session))

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, **_: Any
    ) -> ResumeSessionResponse:
        """ACP `session/resume`: goes on where the conversation stopped, without a replay."""
        return ResumeSessionResponse(**self._offers(self._restore(session_id, cwd, mcp_servers)))

    async def fork_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, **_: Any
    ) -> ForkSessionResponse:
        """ACP `session/fork`: a new session that knows everything said so far."""
        record = {**self._record(session_id), "session_id": self._store.new_id(), "cwd": cwd}
        session = self._open(Session.restore(record), mcp_servers)
        return ForkSessionResponse(session_id=session.session_id, **self._offers(session))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """ACP `session/list`: the latest first, `PAGE` at a time."""
        sessions = [Session.restore(record) for record in reversed(self._store.records())]
        wanted = [session for session in sessions if cwd is None or session.cwd == Path(cwd)]
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        more = start + PAGE < len(wanted)
        return ListSessionsResponse(
            sessions=[_info(session) for session in wanted[start : start + PAGE]],
            next_cursor=str(start + PAGE) if more else None,
        )

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """ACP `session/close`: cancels what runs; the conversation can still be loaded."""
        self._session(session_id).cancel()
        del self._sessions[session_id]
        return CloseSessionResponse()

    async def delete_session(self, params: dict[str, Any]) -> dict[str, Any]:
        """ACP `session/delete`: cancels what runs and forgets everything."""
        session_id = DeleteSessionRequest.model_validate(params).session_id
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.cancel()
        self._deleted.add(session_id)
        if not self._store.delete(session_id):
            raise _refusal(-32002, f"There is no session `{session_id}`.")
        return {}

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """ACP `session/set_mode`."""
        session = self._session(session_id)
        try:
            session.settings.set_mode(mode_id)
        except UnknownSetting as unknown:
            raise _refusal(-32602, str(unknown)) from None
        self._store.save(session.record())
        return SetSessionModeResponse()

    async def set_config_option(
        self, session_id: str, config_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """ACP `session/set_config_option`; answers with all options as they are now."""
        session = self._session(session_id)
        try:
            session.settings.set_option(config_id, value)
        except UnknownSetting as unknown:
            raise _refusal(-32602, str(unknown)) from None
        self._store.save(session.record())
        return SetSessionConfigOptionResponse(config_options=self._options(session))

    # -- turns --------------------------------------------------------------------------------------------------------

    async def prompt(self, session_id: str, prompt: list[ContentBlock], **_: Any) -> PromptResponse:
        """ACP `session/prompt`: one turn, run as a task so that `cancel` can end it at any point."""
        session = self._session(session_id)
        if session.running:
            raise _refusal(-32600, f"A turn is running in `{session_id}`; wait for its end, or cancel it.")
        reply = self._reply(session, prompt)
        session.start(answer(reply, attachment.words(prompt)))
        try:
            await session.finished()
        finally:
            self._save(session)
        if session.cancelled:
            return PromptResponse(stop_reason="cancelled")
        return PromptResponse(stop_reason=reply.stop_reason, usage=reply.usage)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """ACP `session/cancel`."""
        session = self._sessions.get(session_id)
        if session:
            session.cancel()

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def _connected(self) -> Client:
        if self._client is None:
            raise ConnectionError("Nobody is connected.")
        return self._client

    def _session(self, session_id: str) -> Session:
        if session_id not in self._sessions:
            raise _refusal(-32602, f"There is no open session `{session_id}`.")
        return self._sessions[session_id]

    def _record(self, session_id: str) -> Record:
        record = self._store.load(session_id)
        if record is None:
            raise _refusal(-32002, f"There is no session `{session_id}`.")
        return record

    def _save(self, session: Session) -> None:
        """Write it down, unless it was deleted while its turn ran."""
        if session.session_id not in self._deleted:
            self._store.save(session.record())

    def _restore(self, session_id: str, cwd: str, mcp_servers: Servers) -> Session:
        known = self._sessions.get(session_id)
        if known and known.running:
            raise _refusal(-32600, f"A turn is running in `{session_id}`; wait for its end, or cancel it.")
        return self._open(Session.restore({**self._record(session_id), "cwd": cwd}), mcp_servers)

    def _open(self, session: Session, mcp_servers: Servers) -> Session:
        session.mcp_servers = reachable(mcp_servers)
        self._sessions[session.session_id] = session
        self._store.save(session.record())
        task = asyncio.create_task(self._announce(session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return session

    async def _announce(self, session: Session) -> None:
        commands = [_available(command) for command in listed()]
        await self._connected.session_update(session.session_id, update_available_commands(commands))

    async def _replay(self, session: Session) -> None:
        for exchange in session.exchanges:
            said = [{"sessionUpdate": "user_message_chunk", "content": block} for block in exchange.prompt]
            for update in (*said, *exchange.updates):
                notification = SessionNotification.model_validate({"sessionId": session.session_id, "update": update})
                await self._connected.session_update(session.session_id, notification.update)
        if session.title:
            news = SessionInfoUpdate(session_update="session_info_update", title=session.title)
            await self._connected.session_update(session.session_id, news)

    def _reply(self, session: Session, prompt: list[ContentBlock]) -> Reply:
        blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in prompt]
        return Reply(
            client=self._connected,
            session=session,
            exchange=session.begin(blocks),
            attachments=attachment.attachments(prompt),
            capabilities=self._capabilities,
            write=self._write,
            wire=self._wire,
        )

    def _offers(self, session: Session) -> dict[str, Any]:
        return {"modes": session.settings.modes(), "config_options": self._options(session)}

    def _options(self, session: Session) -> list[ConfigOption]:
        return session.settings.options(switches=knows_switches(self._capabilities))


def _available(command: Command) -> AvailableCommand:
    hint = AvailableCommandInput(UnstructuredCommandInput(hint=command.hint)) if command.hint else None
    return AvailableCommand(name=command.name, description=command.summary, input=hint)


def _info(session: Session) -> SessionInfo:
    return SessionInfo(
        session_id=session.session_id, cwd=str(session.cwd), title=session.name, updated_at=session.updated_at
    )


def _refusal(code: int, message: str) -> RequestError:
    return RequestError(code, message)
