"""A terminal: its state, actions and reducer, and how a chat shows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from agentnb.state.action import Action, TerminalAction
from agentnb.state.change import changed, put, same
from agentnb.state.parts import ChunkedSequence
from agentnb.state.reducers import reduced, reduces, row, sets
from agentnb.state.wire import JsonObject, Number, Wire


class TerminalView(Wire, frozen=True, kw_only=True):
    """Ours: a terminal that the agent opened, as views show it.

    Args:
        id: The terminal's id.
        command: The command, as one line.
        cwd: Its working directory.
        output: The end of its output, at most 65,536 characters.
        exit_code: Its exit code, if it ended by itself.
        signal: The signal that ended it.
        truncated: True if ``output`` lacks its beginning.
        exited: True if it has ended.
    """

    id: str
    command: str
    cwd: str | None = None
    output: str = ""
    exit_code: int | None = None
    signal: str | None = None
    truncated: bool = False
    exited: bool = False


class TerminalViews(ChunkedSequence[TerminalView]):
    """The terminals of a chat, oldest first. Equal to a tuple of the same terminals.

    Example:
        >>> terminals = TerminalViews([TerminalView(id="t1", command="ls")])
        >>> terminals.find("t1"), terminals.find("t2")
        (0, -1)
    """

    __slots__ = ()

    @staticmethod
    def keys_of(item: Any) -> tuple[Any, ...]:
        return (item.id,)

    @classmethod
    def of(cls, terminals: Iterable[TerminalView] | None) -> TerminalViews:
        """*terminals* as such a sequence; the same object where they are one."""
        return terminals if isinstance(terminals, TerminalViews) else cls(terminals or ())

    def find(self, wanted: str) -> int:
        """The place of the last terminal with that id; -1 where there is none."""
        return self._find(wanted, lambda terminal: terminal.id == wanted)

    def with_terminal(self, terminal: TerminalView) -> TerminalViews:
        """These terminals with *terminal* in the place of the one with its id, else at the end."""
        at = self.find(terminal.id)
        if at >= 0:
            return self if same(self[at], terminal) else self._version(self._with(at, terminal), self._length)
        if self._places.setdefault(terminal.id, self._length) != self._length:  # only another version has this terminal
            return TerminalViews((*self, terminal))
        return self._version(self._with_last(terminal), self._length + 1)


if TYPE_CHECKING:
    TerminalSequence: TypeAlias = Sequence[TerminalView]
else:
    TerminalSequence = TerminalViews
"""What a chat is made with: any sequence of terminals; what is decoded or reduced are `TerminalViews`."""


class TerminalUnclassifiedPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="unclassified"):
    """Output outside of any command (AHP ``TerminalUnclassifiedPart``)."""

    value: str


class TerminalCommandPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """A command and its output (AHP ``TerminalCommandPart``).

    Args:
        command_id: Its id.
        command_line: The typed command.
        output: Its output so far.
        timestamp: Its start time, in milliseconds since 1970.
        is_complete: True if it has ended.
        exit_code: Its exit code, if known.
        duration_ms: Its duration, in milliseconds.
    """

    command_id: str
    command_line: str
    output: str
    timestamp: Number
    is_complete: bool
    exit_code: int | None = None
    duration_ms: Number | None = None


TerminalContentPart: TypeAlias = TerminalUnclassifiedPart | TerminalCommandPart
"""A stretch of a terminal's output (AHP ``TerminalContentPart``)."""


class TerminalState(Wire, frozen=True, kw_only=True):
    """Everything about one terminal (AHP ``TerminalState``).

    Args:
        title: Its title.
        cwd: Its working directory, as a URI.
        cols: Its width, in characters.
        rows: Its height, in lines.
        content: Its content.
        lifecycle: The state of its process: running, or exited and how (AHP ``TerminalLifecycle``).
        claim: The client or session that holds it.
        supports_command_detection: True if it distinguishes commands from other output.
    """

    title: str
    cwd: str | None = None
    cols: int | None = None
    rows: int | None = None
    content: tuple[TerminalContentPart, ...]
    lifecycle: JsonObject
    claim: JsonObject
    supports_command_detection: bool | None = None


def terminal_lifecycle(*, exited: bool, exit_code: int | None) -> JsonObject:
    """Returns the lifecycle of a terminal's process; a killed process has no exit code.

    Example:
        >>> terminal_lifecycle(exited=True, exit_code=0)
        {'status': 'exited', 'exitCode': 0}
    """
    if not exited:
        return {"status": "running"}
    return {"status": "exited"} | ({} if exit_code is None else {"exitCode": exit_code})


class TerminalData(TerminalAction, frozen=True, kw_only=True, tag="terminal/data"):
    """The terminal printed something (AHP ``terminal/data``)."""

    data: str


class TerminalInput(TerminalAction, frozen=True, kw_only=True, tag="terminal/input"):
    """Something was typed; what comes of it is printed (AHP ``terminal/input``)."""

    data: str


class TerminalResized(TerminalAction, frozen=True, kw_only=True, tag="terminal/resized"):
    """Another size, in characters and lines (AHP ``terminal/resized``)."""

    cols: int
    rows: int


class TerminalClaimed(TerminalAction, frozen=True, kw_only=True, tag="terminal/claimed"):
    """Somebody else holds the terminal (AHP ``terminal/claimed``)."""

    claim: JsonObject


class TerminalTitleChanged(TerminalAction, frozen=True, kw_only=True, tag="terminal/titleChanged"):
    """Another title (AHP ``terminal/titleChanged``)."""

    title: str


class TerminalCwdChanged(TerminalAction, frozen=True, kw_only=True, tag="terminal/cwdChanged"):
    """Another working directory, as URI (AHP ``terminal/cwdChanged``)."""

    cwd: str


class TerminalExited(TerminalAction, frozen=True, kw_only=True, tag="terminal/exited"):
    """The process has ended (AHP ``terminal/exited``)."""

    exit_code: int | None = None


class TerminalCleared(TerminalAction, frozen=True, kw_only=True, tag="terminal/cleared"):
    """What was shown is gone (AHP ``terminal/cleared``)."""


class TerminalCommandDetectionAvailable(
    TerminalAction, frozen=True, kw_only=True, tag="terminal/commandDetectionAvailable"
):
    """From now on commands are told apart (AHP ``terminal/commandDetectionAvailable``)."""


class TerminalCommandExecuted(TerminalAction, frozen=True, kw_only=True, tag="terminal/commandExecuted"):
    """A command begins; the following output belongs to it (AHP ``terminal/commandExecuted``).

    Args:
        command_id: Its id.
        command_line: The typed command.
        timestamp: Its start time, in milliseconds since 1970.
    """

    command_id: str
    command_line: str
    timestamp: Number


class TerminalCommandFinished(TerminalAction, frozen=True, kw_only=True, tag="terminal/commandFinished"):
    """A command has ended (AHP ``terminal/commandFinished``).

    Args:
        command_id: Its id.
        exit_code: Its exit code, if known.
        duration_ms: Its duration, in milliseconds.
    """

    command_id: str
    exit_code: int | None = None
    duration_ms: Number | None = None


sets(TerminalResized, "cols", "rows")
sets(TerminalClaimed, "claim")
sets(TerminalTitleChanged, "title")
sets(TerminalCwdChanged, "cwd")
row(TerminalInput)
row(TerminalCleared, ("value", "content", ()))
row(TerminalCommandDetectionAvailable, ("value", "supports_command_detection", True))


@reduces(TerminalData)
def _data(state: TerminalState, action: TerminalData) -> TerminalState:
    """To the running command or to what is between commands, whichever comes last."""
    if not action.data:
        return state
    at = len(state.content) - 1
    match state.content[-1:]:
        case (TerminalUnclassifiedPart() as part,):
            return changed(state, content=put(state.content, at, replace(part, value=part.value + action.data)))
        case (TerminalCommandPart(is_complete=False) as command,):
            return changed(state, content=put(state.content, at, replace(command, output=command.output + action.data)))
        case _:
            return changed(state, content=(*state.content, TerminalUnclassifiedPart(value=action.data)))


@reduces(TerminalExited)
def _exited(state: TerminalState, action: TerminalExited) -> TerminalState:
    return changed(state, lifecycle=terminal_lifecycle(exited=True, exit_code=action.exit_code))


@reduces(TerminalCommandExecuted)
def _command_executed(state: TerminalState, action: TerminalCommandExecuted) -> TerminalState:
    command = TerminalCommandPart(
        command_id=action.command_id,
        command_line=action.command_line,
        output="",
        timestamp=action.timestamp,
        is_complete=False,
    )
    return changed(state, content=(*state.content, command), supports_command_detection=True)


@reduces(TerminalCommandFinished)
def _command_finished(state: TerminalState, action: TerminalCommandFinished) -> TerminalState:
    for at, part in enumerate(state.content):
        if isinstance(part, TerminalCommandPart) and part.command_id == action.command_id and not part.is_complete:
            done = replace(part, is_complete=True, exit_code=action.exit_code, duration_ms=action.duration_ms)
            return changed(state, content=put(state.content, at, done))
    return state


def reduce_terminal(state: TerminalState, action: Action) -> TerminalState:
    return reduced("terminal", state, action)
