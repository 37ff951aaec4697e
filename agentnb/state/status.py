"""A session's and a chat's status: one activity and two flags in one number."""

from __future__ import annotations

from enum import IntFlag


class SessionStatus(IntFlag):
    """Bits of ``SessionSummary.status`` and ``ChatState.status`` (AHP ``SessionStatus``).

    The five low bits say one activity; ``IS_READ`` and ``IS_ARCHIVED`` are independent of it. ``INPUT_NEEDED``
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
"""The bits of a status that say the activity."""


def with_activity(status: int, activity: int) -> int:
    """The status with another activity and the same flags."""
    return int(status) & ~ACTIVITY_MASK | int(activity)  # plain numbers: flags of an enum take ten times as long


def with_flag(status: int, flag: int, *, on: bool) -> int:
    """The status with one flag set or cleared."""
    return int(status) | int(flag) if on else int(status) & ~int(flag)
