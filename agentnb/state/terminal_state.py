"""A terminal as the Agent Host Protocol has it (a channel of its own). What our agents open is in `ChatState`."""

from __future__ import annotations

from typing import TypeAlias

from agentnb.state.wire import JsonObject, Number, Wire


class TerminalUnclassifiedPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="unclassified"):
    """Output outside of any command (AHP ``TerminalUnclassifiedPart``)."""

    value: str


class TerminalCommandPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """A command and what it printed (AHP ``TerminalCommandPart``).

    Args:
        command_id: Its id.
        command_line: What was typed.
        output: What it printed so far.
        timestamp: When it began, in milliseconds since 1970.
        is_complete: Whether it has ended.
        exit_code: Its exit code, when that is known.
        duration_ms: How long it took, in milliseconds.
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
        cwd: Its working directory, as URI.
        cols: Its width, in characters.
        rows: Its height, in lines.
        content: What it shows.
        exit_code: The exit code of its process, once that has ended.
        claim: Who holds it: a client or a session.
        supports_command_detection: Whether it tells commands from what is between them.
    """

    title: str
    cwd: str | None = None
    cols: int | None = None
    rows: int | None = None
    content: tuple[TerminalContentPart, ...]
    exit_code: int | None = None
    claim: JsonObject
    supports_command_detection: bool | None = None
