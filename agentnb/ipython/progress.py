"""Progress of a long turn where nobody watches the cell but somebody may watch the terminal."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from agentnb.ipython.blocks import tool_line
from agentnb.ipython.markdown import printable
from agentnb.state import ToolCallResponsePart

if TYPE_CHECKING:
    from agentnb.api.session import Turn

FIRST_S, AGAIN_S = 5.0, 10.0
"""Seconds until the first line, and between lines."""
_LONGEST = 120


class TurnProgress:
    """Writes a line now and then to the terminal that the kernel was started from, if there is one.

    It does not go through ``sys.stderr``, which in a kernel is the cell's output.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._terminal = terminal()
        self._since = time.monotonic()
        self._next = self._since + _first_seconds()

    def tick(self) -> None:
        """Write a line where it is time for one."""
        now = time.monotonic()
        if self._terminal is None or now < self._next:
            return
        self._next = now + AGAIN_S
        doing = self._doing() + self._silence()
        line = f"agentnb: {self._turn.session.agent} has been working for {now - self._since:.0f} s{doing}\n"
        try:
            os.write(self._terminal, line.encode("utf-8", "replace"))
        except OSError:  # the terminal was closed
            self._terminal = None

    def _silence(self) -> str:
        silence = self._turn.session.state.activity
        return f" ({silence})" if silence else ""

    def _doing(self) -> str:
        snapshot = self._turn.snapshot
        last = snapshot.response_parts[-1] if snapshot is not None and snapshot.response_parts else None
        if not isinstance(last, ToolCallResponsePart):
            return ""
        return f": {printable(tool_line(last.tool_call))[:_LONGEST]}"


def _first_seconds() -> float:
    try:
        return float(os.environ.get("AGENTNB_PROGRESS_SECONDS", FIRST_S))
    except ValueError:  # it was said when the settings were read
        return FIRST_S


def terminal() -> int | None:
    """The descriptor of the terminal that stderr was before the kernel took it; None where there is none."""
    kept = getattr(sys.stderr, "_original_stdstream_copy", None)
    candidates = [kept] if isinstance(kept, int) else [2]
    for descriptor in candidates:
        try:
            if os.isatty(descriptor):
                return descriptor
        except OSError:
            continue
    return None
