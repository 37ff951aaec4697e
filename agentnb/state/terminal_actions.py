"""Actions of a terminal channel."""

from __future__ import annotations

from typing import TypeAlias

from agentnb.state.action import KnownAction
from agentnb.state.wire import JsonObject, Number


class TerminalData(KnownAction, frozen=True, kw_only=True, tag="terminal/data"):
    """The terminal printed something (AHP ``terminal/data``)."""

    data: str


class TerminalInput(KnownAction, frozen=True, kw_only=True, tag="terminal/input"):
    """Something was typed; what comes of it is printed (AHP ``terminal/input``)."""

    data: str


class TerminalResized(KnownAction, frozen=True, kw_only=True, tag="terminal/resized"):
    """Another size, in characters and lines (AHP ``terminal/resized``)."""

    cols: int
    rows: int


class TerminalClaimed(KnownAction, frozen=True, kw_only=True, tag="terminal/claimed"):
    """Somebody else holds the terminal (AHP ``terminal/claimed``)."""

    claim: JsonObject


class TerminalTitleChanged(KnownAction, frozen=True, kw_only=True, tag="terminal/titleChanged"):
    """Another title (AHP ``terminal/titleChanged``)."""

    title: str


class TerminalCwdChanged(KnownAction, frozen=True, kw_only=True, tag="terminal/cwdChanged"):
    """Another working directory, as URI (AHP ``terminal/cwdChanged``)."""

    cwd: str


class TerminalExited(KnownAction, frozen=True, kw_only=True, tag="terminal/exited"):
    """The process has ended (AHP ``terminal/exited``)."""

    exit_code: int | None = None


class TerminalCleared(KnownAction, frozen=True, kw_only=True, tag="terminal/cleared"):
    """What was shown is gone (AHP ``terminal/cleared``)."""


class TerminalCommandDetectionAvailable(
    KnownAction, frozen=True, kw_only=True, tag="terminal/commandDetectionAvailable"
):
    """From now on commands are told apart (AHP ``terminal/commandDetectionAvailable``)."""


class TerminalCommandExecuted(KnownAction, frozen=True, kw_only=True, tag="terminal/commandExecuted"):
    """A command begins; what is printed now is its output (AHP ``terminal/commandExecuted``).

    Args:
        command_id: Its id.
        command_line: What was typed.
        timestamp: When, in milliseconds since 1970.
    """

    command_id: str
    command_line: str
    timestamp: Number


class TerminalCommandFinished(KnownAction, frozen=True, kw_only=True, tag="terminal/commandFinished"):
    """A command has ended (AHP ``terminal/commandFinished``).

    Args:
        command_id: Its id.
        exit_code: Its exit code, when that is known.
        duration_ms: How long it took, in milliseconds.
    """

    command_id: str
    exit_code: int | None = None
    duration_ms: Number | None = None


TerminalAction: TypeAlias = (
    TerminalData
    | TerminalInput
    | TerminalResized
    | TerminalClaimed
    | TerminalTitleChanged
    | TerminalCwdChanged
    | TerminalExited
    | TerminalCleared
    | TerminalCommandDetectionAvailable
    | TerminalCommandExecuted
    | TerminalCommandFinished
)
"""The actions of a terminal channel."""
