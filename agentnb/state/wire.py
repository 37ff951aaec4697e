"""The base of all structs on the wire, and the status of a session.

A struct is frozen; its fields are snake_case here and camelCase on the wire. A field that is ``None`` is absent on the
wire. Unknown fields are ignored, so a newer peer may add some (additive within a version).
"""

from __future__ import annotations

from enum import IntFlag
from typing import Annotated, Any, TypeAlias

import msgspec

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as received. Never changed in place."""

LATEST_TIME = 253_402_300_799_999
"""The last millisecond of the year 9999, the largest time that ISO 8601 text can say."""

Time: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=LATEST_TIME)]
"""Milliseconds since 1970-01-01T00:00:00Z."""

Index: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
"""A position in a channel's sequence of actions: 1, 2, 3 … without gaps."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""A number of items."""

Number: TypeAlias = int | float
"""A number that keeps its received form: 1 stays 1."""


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Base of all state and all actions.

    The garbage collector does not track them (``gc=False``): an immutable struct is made only of earlier objects, so it
    cannot contain itself. Otherwise each collection would visit every tool call of a long chat while all tabs wait.
    """


class Markdown(Wire, frozen=True, kw_only=True):
    """Markdown text.

    Args:
        markdown: The source text.
    """

    markdown: str


StringOrMarkdown: TypeAlias = str | Markdown
"""Plain text, or text marked as Markdown (AHP ``StringOrMarkdown``)."""


class ErrorInfo(Wire, frozen=True, kw_only=True):
    """An error (AHP ``ErrorInfo``).

    Args:
        error_type: A short machine-readable kind, such as ``"agent-died"``.
        message: The error text, for people.
        stack: The stack trace, if known.
        meta: Additional data.
    """

    error_type: str
    message: str
    stack: str | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class ModelSelection(Wire, frozen=True, kw_only=True):
    """The chosen language model (AHP ``ModelSelection``).

    Args:
        id: The model's id.
        config: Settings of that model.
    """

    id: str
    config: JsonObject | None = None


class AgentSelection(Wire, frozen=True, kw_only=True):
    """The chosen custom agent (AHP ``AgentSelection``).

    Args:
        uri: The file or resource that defines it.
    """

    uri: str


class SessionStatus(IntFlag):
    """Bits of ``SessionSummary.status`` and ``ChatState.status`` (AHP ``SessionStatus``).

    The five low bits hold one activity; ``IS_READ`` and ``IS_ARCHIVED`` are independent of it. ``INPUT_NEEDED``
    contains ``IN_PROGRESS``: a turn that waits for an answer is still running.

    Example:
        >>> bool(24 & SessionStatus.IN_PROGRESS)
        True
    """

    IDLE = 1
    ERROR = 2
    IN_PROGRESS = 8
    INPUT_NEEDED = 24
    IS_READ = 32
    IS_ARCHIVED = 64


ACTIVITY_MASK = 0b11111
"""The bits of a status for the activity."""


def with_activity(status: int, activity: int) -> int:
    """The status with another activity and the same flags."""
    return int(status) & ~ACTIVITY_MASK | int(activity)  # plain numbers: flags of an enum take ten times as long


def with_flag(status: int, flag: int, *, on: bool) -> int:
    return int(status) | int(flag) if on else int(status) & ~int(flag)
