"""The client as an agent sees it: ACP's client methods."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from msgspec import Meta, ValidationError

from agentnb.errors import ProtocolError
from agentnb.plugins.acp_agent.content import Acp, Lenient, fields, read
from agentnb.rpc import ACP, Connection, answer_nothing
from agentnb.rpc_message import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from asyncio import StreamReader
    from collections.abc import Mapping


Method = Callable[[Any], Awaitable[object]]
LONGEST_LINE = 256 * 1024 * 1024
"""The longest message from the client, in bytes."""


class ClientOutput(Protocol):
    """The part of an `asyncio.StreamWriter` that is needed."""

    def write(self, data: bytes, /) -> None:
        """Write, now or soon."""

    async def drain(self) -> None:
        """Come back when little is left to write."""

    def is_closing(self) -> bool:
        """True if nobody reads any more."""


class AcpClient:
    """The agent's connection to its client: answers its requests, and sends it requests and notifications."""

    def __init__(self, name: str, writer: ClientOutput) -> None:
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
        """Serve the client until it closes its end; requests still unanswered then are given up."""
        self._methods, self._notifications = methods, notifications
        try:
            await self._connection.read(reader)
        finally:
            self._connection.close(ConnectionError("The client is gone."))
            await self._connection.wait_closed()

    async def ask(self, method: str, params: object) -> Any:
        """Send a request to the client, and wait for its response."""
        self._demand_reader()
        return await self._connection.request(method, params)

    async def tell(self, method: str, params: object) -> None:
        """Send the client a notification, and wait until it has read most of what was sent before."""
        self.notify(method, params)
        async with self._draining:  # before Python 3.10.5, only one task may wait in drain()
            await self._writer.drain()
        await asyncio.sleep(0)  # lets other tasks run between many notifications

    def notify(self, method: str, params: object) -> None:
        """Like :meth:`tell`, without waiting."""
        self._demand_reader()
        self._connection.notify(method, params)

    def write(self, data: bytes) -> None:
        """Write raw bytes, between two messages."""
        self._demand_reader()
        self._writer.write(data)

    async def update(self, session_id: str, update: dict[str, Any]) -> None:
        await self.tell("session/update", {"sessionId": session_id, "update": update})

    async def request_permission(
        self, session_id: str, tool_call: dict[str, str], options: tuple[PermissionOption, ...]
    ) -> str | None:
        """ACP `session/request_permission`; returns the id of the chosen option, None if the turn was cancelled."""
        params = fields(session_id=session_id, tool_call=tool_call, options=options)
        outcome = read(_Permission, await self.ask("session/request_permission", params)).outcome
        return outcome.option_id if isinstance(outcome, _Selected) else None

    async def create_elicitation(self, session_id: str, message: str, form: dict[str, Any]) -> FilledForm:
        params = fields(session_id=session_id, message=message, mode="form", requested_schema=form)
        return read(FilledForm, await self.ask("elicitation/create", params))

    async def read_text_file(
        self, session_id: str, path: str, *, line: int | None = None, limit: int | None = None
    ) -> str:
        """ACP `fs/read_text_file`: the text of a file, or *limit* lines of it from *line* on."""
        params = fields(session_id=session_id, path=path, line=line, limit=limit)
        return _text(await self.ask("fs/read_text_file", params), "content")

    async def write_text_file(self, session_id: str, path: str, content: str) -> None:
        """ACP `fs/write_text_file`."""
        await self.ask("fs/write_text_file", fields(session_id=session_id, path=path, content=content))

    async def create_terminal(self, session_id: str, command: str, args: list[str], **more: object) -> str:
        """ACP `terminal/create`: starts a program; returns the terminal's id."""
        params = fields(session_id=session_id, command=command, args=args, **more)
        return _text(await self.ask("terminal/create", params), "terminalId")

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str) -> TerminalExit:
        return read(TerminalExit, await self.terminal("wait_for_exit", session_id, terminal_id))

    async def terminal_output(self, session_id: str, terminal_id: str) -> str:
        return _text(await self.terminal("output", session_id, terminal_id), "output")

    async def terminal(self, verb: str, session_id: str, terminal_id: str) -> Any:
        """ACP `terminal/kill`, `terminal/release`, and the other requests about a terminal."""
        return await self.ask(f"terminal/{verb}", fields(session_id=session_id, terminal_id=terminal_id))

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


class PermissionOption(Acp):
    """One of the answers that a permission request offers."""

    option_id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class FilledForm(Acp):
    """The user's answer to a form; an action that is neither `accept` nor `decline` is a form that was closed."""

    action: str
    content: dict[str, Any] | None = None


class TerminalExit(Lenient):
    """The exit of the program in a terminal."""

    exit_code: Annotated[int, Meta(ge=0)] | None = None
    signal: str | None = None


class _Selected(Acp, tag_field="outcome", tag="selected"):
    option_id: str


class _Cancelled(Acp, tag_field="outcome", tag="cancelled"):
    pass


class _Permission(Acp):
    outcome: _Selected | _Cancelled


async def ignoring_refusal(request: Awaitable[object]) -> None:
    """Wait for a request that cleans up: whether the client refuses it or has left makes no difference."""
    with suppress(RpcError, ConnectionError):
        await request


def _text(answer: Any, name: str) -> str:
    """Returns the text *name* of *answer*; raises ValidationError if it is missing."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(value, str):
        raise ValidationError(f"Expected `{name}` to be text")
    return value
