"""The client as an agent sees it: ACP's client methods, with their parameters and results."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from msgspec import Meta

from agentnb.errors import ProtocolError
from agentnb.plugins.acp_agent.schema import Acp, Lenient, SessionParams, always, read
from agentnb.plugins.acp_agent.updates import ToolCallStatus, ToolKind
from agentnb.rpc import ACP, Connection, answer_nothing
from agentnb.rpc_message import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import Mapping

    from agentnb.plugins.acp_agent.updates import News, Part


Method = Callable[[Any], Awaitable[object]]
LONGEST_LINE = 256 * 1024 * 1024
"""How many bytes one message from the client may have."""
_CHUNK = 256 * 1024


class Writer(Protocol):
    """The part of an `asyncio.StreamWriter` that is needed."""

    def write(self, data: bytes, /) -> None:
        """Write, now or soon."""

    async def drain(self) -> None:
        """Come back when little is left to write."""

    def is_closing(self) -> bool:
        """Whether nobody reads any more."""


class Client:
    """Answers, tells and asks the client.

    Each message of the client is served by a task of its own, and tasks start in the order of the messages. Every
    method that asks raises `RpcError` where the client refuses, `msgspec.ValidationError` where its answer is none, and
    `ConnectionError` where it is gone.
    """

    def __init__(self, name: str, writer: Writer) -> None:
        self.name = name
        self._writer = writer
        self._draining = asyncio.Lock()
        self._methods: Mapping[str, Method] = {}
        self._notifications: Mapping[str, Method] = {}
        self._connection = Connection(
            self._write_rest,
            ACP,
            on_request=self._answer,
            on_notifications=self._take,
            on_invalid=self._complain,
            on_closed=lambda reason: self._complain(reason) if isinstance(reason, ProtocolError) else None,
            to_error=self._to_error,
            longest=LONGEST_LINE,
        )

    async def serve(
        self, reader: StreamReader, methods: Mapping[str, Method], notifications: Mapping[str, Method]
    ) -> None:
        """Serve the client until it closes its end; what is not answered then is given up."""
        self._methods, self._notifications = methods, notifications
        try:
            while not self._connection.closed and (data := await reader.read(_CHUNK)):
                self._connection.feed(data)
        finally:
            self._connection.close(ConnectionError("The client is gone."))
            await self._connection.wait_closed()

    async def ask(self, method: str, params: object) -> Any:
        """Ask the client, and wait for its answer."""
        self._demand_reader()
        return await self._connection.request(method, params)

    async def tell(self, method: str, params: object) -> None:
        """Tell the client something; comes back when it has read most of what was sent before."""
        self.notify(method, params)
        async with self._draining:  # before Python 3.10.5 only one may wait
            await self._writer.drain()
        await asyncio.sleep(0)  # whoever tells much lets others have their turn

    def notify(self, method: str, params: object) -> None:
        """As :meth:`tell`, without waiting."""
        self._demand_reader()
        self._connection.notify(method, params)

    def write(self, data: bytes) -> None:
        """Write raw bytes, between two messages."""
        self._demand_reader()
        self._writer.write(data)

    @property
    def _is_gone(self) -> bool:
        return self._connection.closed or self._writer.is_closing()

    def _demand_reader(self) -> None:
        if self._is_gone:
            raise ConnectionError("The client is gone.")

    def _write_rest(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def _answer(self, method: str, params: Any) -> Any:
        known = self._methods.get(method)
        return answer_nothing(method, params) if known is None else known(params)

    def _take(self, notifications: list[tuple[str, Any]]) -> None:
        for method, params in notifications:
            if method in self._notifications:
                self._connection.spawn(self._take_one(method, params))

    async def _take_one(self, method: str, params: Any) -> None:
        try:
            await self._notifications[method](params)
        except RpcError as error:
            self._complain(f"{method} is ignored: {error}: {error.data}")

    def _to_error(self, error: Exception) -> RpcError:
        if isinstance(error, RpcError):
            return error
        if not self._is_gone:
            traceback.print_exception(error)
        return RpcError(INTERNAL_ERROR, "Internal error", {"details": str(error)})

    def _complain(self, what: object) -> None:
        sys.stderr.write(f"{self.name}: {what}\n")
        sys.stderr.flush()

    async def update(self, session_id: str, update: Part | News | dict[str, Any]) -> None:
        """ACP `session/update`."""
        await self.tell("session/update", {"sessionId": session_id, "update": update})

    async def request_permission(
        self, session_id: str, tool_call: AskedToolCall, options: list[PermissionOption]
    ) -> Chosen | Cancelled:
        """ACP `session/request_permission`."""
        params = _RequestPermission(session_id=session_id, tool_call=tool_call, options=options)
        answer = await self.ask("session/request_permission", params)
        return read(_Permission, answer).outcome

    async def create_elicitation(self, session_id: str, message: str, form: dict[str, Any]) -> FilledForm:
        """ACP `elicitation/create`, with a form."""
        params = _CreateElicitation(session_id=session_id, message=message, requested_schema=form)
        return read(FilledForm, await self.ask("elicitation/create", params))

    async def read_text_file(
        self, session_id: str, path: str, *, line: int | None = None, limit: int | None = None
    ) -> str:
        """ACP `fs/read_text_file`: the text of a file, or *limit* lines of it from *line* on."""
        params = _ReadTextFile(session_id=session_id, path=path, line=line, limit=limit)
        return read(_FileText, await self.ask("fs/read_text_file", params)).content

    async def write_text_file(self, session_id: str, path: str, content: str) -> None:
        """ACP `fs/write_text_file`."""
        params = _WriteTextFile(session_id=session_id, path=path, content=content)
        await self.ask("fs/write_text_file", params)

    async def create_terminal(
        self, session_id: str, command: str, args: list[str], *, cwd: str, output_byte_limit: int
    ) -> str:
        """ACP `terminal/create`: starts a program; returns the terminal's id."""
        params = _CreateTerminal(
            session_id=session_id, command=command, args=args, cwd=cwd, output_byte_limit=output_byte_limit
        )
        return read(_CreatedTerminal, await self.ask("terminal/create", params)).terminal_id

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str) -> TerminalExit:
        """ACP `terminal/wait_for_exit`."""
        return read(TerminalExit, await self._terminal("wait_for_exit", session_id, terminal_id))

    async def terminal_output(self, session_id: str, terminal_id: str) -> str:
        """ACP `terminal/output`."""
        return read(_TerminalOutput, await self._terminal("output", session_id, terminal_id)).output

    async def kill_terminal(self, session_id: str, terminal_id: str) -> None:
        """ACP `terminal/kill`."""
        await self._terminal("kill", session_id, terminal_id)

    async def release_terminal(self, session_id: str, terminal_id: str) -> None:
        """ACP `terminal/release`."""
        await self._terminal("release", session_id, terminal_id)

    async def ext_method(self, method: str, params: dict[str, Any]) -> Any:
        """An extension method, whose name begins with an underscore."""
        return await self.ask(method, params)

    async def _terminal(self, verb: str, session_id: str, terminal_id: str) -> Any:
        return await self.ask(f"terminal/{verb}", _Terminal(session_id=session_id, terminal_id=terminal_id))


class AskedToolCall(Acp):
    """A tool call as a permission request names it."""

    tool_call_id: str
    kind: ToolKind
    status: ToolCallStatus
    title: str


class PermissionOption(Acp):
    """One of the answers that a permission request offers."""

    option_id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class Chosen(Acp, tag_field="outcome", tag="selected"):
    """The user chose an option."""

    option_id: str


class Cancelled(Acp, tag_field="outcome", tag="cancelled"):
    """Nobody chose: the turn was cancelled."""


class FilledForm(Acp):
    """What the user did with a form; what is neither `accept` nor `decline` is a form that was closed."""

    action: str
    content: dict[str, Any] | None = None


class TerminalExit(Lenient):
    """How the program in a terminal ended."""

    exit_code: Annotated[int, Meta(ge=0)] | None = None
    signal: str | None = None


class _RequestPermission(SessionParams):
    tool_call: AskedToolCall
    options: list[PermissionOption]


class _Permission(Acp):
    outcome: Chosen | Cancelled


class _CreateElicitation(SessionParams, kw_only=True):
    message: str
    mode: Literal["form"] = always("form")
    requested_schema: dict[str, Any]


class _ReadTextFile(SessionParams):
    path: str
    line: int | None = None
    limit: int | None = None


class _FileText(Acp):
    content: str


class _WriteTextFile(SessionParams):
    path: str
    content: str


class _CreateTerminal(SessionParams):
    command: str
    args: list[str]
    cwd: str
    output_byte_limit: int


class _CreatedTerminal(Acp):
    terminal_id: str


class _Terminal(SessionParams):
    terminal_id: str


class _TerminalOutput(Acp):
    output: str
    truncated: bool
