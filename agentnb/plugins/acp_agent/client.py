"""The client as an agent sees it: ACP's client methods, with their parameters and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from agentnb.plugins.acp_agent.schema import Acp, Lenient, SessionParams, always, read
from agentnb.plugins.acp_agent.updates import ToolCallStatus, ToolKind

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.rpc import Connection
    from agentnb.plugins.acp_agent.updates import News, Part


class Client:
    """Tells and asks the client.

    Every method that asks raises `RequestError` where the client refuses, `msgspec.ValidationError` where its answer is
    none, and `ConnectionError` where it is gone.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def update(self, session_id: str, update: Part | News | dict[str, Any]) -> None:
        """ACP `session/update`."""
        await self._connection.tell("session/update", {"sessionId": session_id, "update": update})

    async def request_permission(
        self, session_id: str, tool_call: AskedToolCall, options: list[PermissionOption]
    ) -> Chosen | Cancelled:
        """ACP `session/request_permission`."""
        params = _RequestPermission(session_id=session_id, tool_call=tool_call, options=options)
        answer = await self._connection.ask("session/request_permission", params)
        return read(_Permission, answer).outcome

    async def create_elicitation(self, session_id: str, message: str, form: dict[str, Any]) -> FilledForm:
        """ACP `elicitation/create`, with a form."""
        params = _CreateElicitation(session_id=session_id, message=message, requested_schema=form)
        return read(FilledForm, await self._connection.ask("elicitation/create", params))

    async def read_text_file(
        self, session_id: str, path: str, *, line: int | None = None, limit: int | None = None
    ) -> str:
        """ACP `fs/read_text_file`: the text of a file, or *limit* lines of it from *line* on."""
        params = _ReadTextFile(session_id=session_id, path=path, line=line, limit=limit)
        return read(_FileText, await self._connection.ask("fs/read_text_file", params)).content

    async def write_text_file(self, session_id: str, path: str, content: str) -> None:
        """ACP `fs/write_text_file`."""
        params = _WriteTextFile(session_id=session_id, path=path, content=content)
        await self._connection.ask("fs/write_text_file", params)

    async def create_terminal(
        self, session_id: str, command: str, args: list[str], *, cwd: str, output_byte_limit: int
    ) -> str:
        """ACP `terminal/create`: starts a program; returns the terminal's id."""
        params = _CreateTerminal(
            session_id=session_id, command=command, args=args, cwd=cwd, output_byte_limit=output_byte_limit
        )
        return read(_CreatedTerminal, await self._connection.ask("terminal/create", params)).terminal_id

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
        return await self._connection.ask(method, params)

    async def _terminal(self, verb: str, session_id: str, terminal_id: str) -> Any:
        return await self._connection.ask(f"terminal/{verb}", _Terminal(session_id=session_id, terminal_id=terminal_id))


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
