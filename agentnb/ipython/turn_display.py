"""The display of a turn in a cell, for whoever watches: a page, a terminal or nobody."""

from __future__ import annotations

import os
import sys
import time
from enum import Enum
from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle, display

from agentnb.api.unattended import is_watched
from agentnb.ipython.blocks import tool_line
from agentnb.ipython.markdown import printable
from agentnb.ipython.record import record_in_its_cell, without_cancelled
from agentnb.ipython.transcript import GrowingText, ending_text
from agentnb.state import ToolCallPendingConfirmationState, ToolCallResponsePart

if TYPE_CHECKING:
    from agentnb.api.session import Turn


class Audience(Enum):
    """The audience of an output, which decides its form."""

    TERMINAL = "terminal"
    """Plain IPython: text as it arrives."""
    PAGE = "page"
    """A notebook in a browser: a live view, then the static record."""
    NOBODY = "nobody"
    """nbclient, nbconvert, papermill, nbval: one final output and no questions."""


def audience_of(shell: Any) -> Audience:
    """Returns who sees the outputs of the cell that *shell* runs."""
    if getattr(shell, "kernel", None) is None:
        return Audience.TERMINAL
    return Audience.PAGE if is_watched(shell) else Audience.NOBODY


def is_unattended(shell: Any) -> bool:
    """True if nobody can stop a turn: there is no page, and no person at a terminal."""
    audience = audience_of(shell)
    return audience is Audience.NOBODY or (audience is Audience.TERMINAL and not sys.stdin.isatty())


def in_notebook(shell: Any) -> bool:
    """True if the cell that *shell* runs is a notebook's, whose outputs can be replaced in place."""
    kernel = getattr(shell, "kernel", None)
    metadata = ((kernel.get_parent() or {}).get("metadata") or {}) if kernel is not None else {}
    return "cellId" in metadata or "google.colab" in sys.modules


ATTACH_S = 3.0
"""Seconds that a page may take to show the live view before text replaces it (0.2 s is the slowest seen)."""

FIRST_S, AGAIN_S = 5.0, 10.0
"""Seconds until the first line, and between lines."""
_LONGEST_LINE = 120


class TurnDisplay:
    """Shows a turn: `open` before waiting, `tick` while waiting, `close` once, at the end."""

    def open(self) -> None:
        """Begin to show the turn."""

    def tick(self) -> None:
        """Show what is new."""

    def close(self) -> None:
        """Leave what stays in the notebook."""


def display_for(turn: Turn, audience: Audience, view: str, *, blocking: bool, replaces: bool) -> TurnDisplay:
    if audience is Audience.TERMINAL:
        return TerminalDisplay(turn)
    if view == "live" or (view == "auto" and audience is Audience.PAGE):
        return LiveDisplay(turn, blocking=blocking, replaces=replaces)
    return FinalDisplay(turn) if audience is Audience.NOBODY else GrowingMarkdownDisplay(turn)


def inactivity_of(turn: Turn) -> str | None:
    """The time that the agent has been silent in *turn*, in words; None if that is not long."""
    return turn.session.state.activity if turn.state == "running" else None


class TerminalDisplay(TurnDisplay):
    """Plain text on stdout, as it comes."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._text = GrowingText()
        self._silence: str | None = None

    def tick(self) -> None:
        sys.stdout.write(self._text.read(self._turn.snapshot))
        silence = inactivity_of(self._turn)
        if silence != self._silence and silence is not None:
            sys.stdout.write(f"\n({silence}; Ctrl+C stops the turn)\n")
        self._silence = silence
        sys.stdout.flush()

    def close(self) -> None:
        self.tick()
        snapshot = without_cancelled(self._turn.snapshot)
        ending = ending_text(snapshot) if snapshot is not None else ""
        sys.stdout.write("\n" + (f"\n{ending}\n" if ending else ""))
        sys.stdout.flush()


class FinalDisplay(TurnDisplay):
    """A display that nobody watches: one output at the end, always the same, and progress on a terminal if any."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._progress = TurnProgress(turn)

    def tick(self) -> None:
        self._progress.tick()

    def close(self) -> None:
        display(record_in_its_cell(self._turn), raw=True)


class GrowingMarkdownDisplay(TurnDisplay):
    """Markdown that grows in place, without a widget."""

    def __init__(self, turn: Turn, handle: DisplayHandle | None = None) -> None:
        self._turn = turn
        self._handle = handle or DisplayHandle()
        self._displayed_state: object = (None, None)

    def open(self) -> None:
        self._handle.display({"text/markdown": "*Working …*", "text/plain": "Working …"}, raw=True)

    def tick(self) -> None:
        """Show the record so far, if it has changed."""
        snapshot, silence = self._turn.snapshot, inactivity_of(self._turn)
        if snapshot is None or (snapshot, silence) == self._displayed_state or not (snapshot.response_parts or silence):
            return
        self._displayed_state = (snapshot, silence)
        bundle = record_in_its_cell(self._turn)
        if silence is not None:
            bundle = {kind: f"{text}\n\n({silence})" for kind, text in bundle.items()}
        self._handle.update(bundle, raw=True)

    def close(self) -> None:
        self._handle.update(record_in_its_cell(self._turn), raw=True)


class LiveDisplay(TurnDisplay):
    """The live view, replaced in place by the record when the turn has ended."""

    def __init__(self, turn: Turn, *, blocking: bool, replaces: bool) -> None:
        from agentnb.server.comm import frontend

        self._turn = turn
        self._frontend = frontend
        self._view: Any = frontend.turn_view(turn.session.chat.resource, turn.id)
        self._handle = DisplayHandle()
        self._text = GrowingMarkdownDisplay(turn, self._handle)
        self._stand_in: TurnDisplay = self._text if replaces else TerminalDisplay(turn)
        self._blocking = blocking
        self._live = True

    def open(self) -> None:
        self._since = time.monotonic()
        self._handle.display(self._view)

    def tick(self) -> None:
        """Show text until a page shows the view, and report a question that cannot be answered."""
        if self._frontend.attached():
            if not self._live:
                self._live = True
                self._handle.update(self._view)
        elif time.monotonic() - self._since > ATTACH_S:
            self._live = False
            self._stand_in.tick()
        if self._blocking and self._asks():
            self._blocking = False
            sys.stdout.write(_CANNOT_CLICK)

    def close(self) -> None:
        """Put the record in the view's place, then let the view go."""
        if self._stand_in is not self._text and not self._frontend.attached():
            self._stand_in.close()
        self._text.close()
        self._view.close()

    def _asks(self) -> bool:
        return any(isinstance(call, ToolCallPendingConfirmationState) for call in self._turn.tool_calls)


_CANNOT_CLICK = (
    "The agent asks for permission, but this cell blocks the kernel, so a click may not reach it. Interrupt the kernel "
    "and run %agent in a cell of its own, or `await` the turn.\n"
)


class TurnProgress:
    """Writes a line now and then to the terminal that the kernel was started from, if there is one."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._terminal = terminal()
        self._since = time.monotonic()
        self._next = self._since + _first_seconds()

    def tick(self) -> None:
        now = time.monotonic()
        if self._terminal is None or now < self._next:
            return
        self._next = now + AGAIN_S
        silence = inactivity_of(self._turn)
        doing = self._doing() + (f" ({silence})" if silence else "")
        line = f"agentnb: {self._turn.session.agent} has been working for {now - self._since:.0f} s{doing}\n"
        try:
            os.write(self._terminal, line.encode("utf-8", "replace"))
        except OSError:  # the terminal was closed
            self._terminal = None

    def _doing(self) -> str:
        snapshot = self._turn.snapshot
        last = snapshot.response_parts[-1] if snapshot is not None and snapshot.response_parts else None
        if not isinstance(last, ToolCallResponsePart):
            return ""
        return f": {printable(tool_line(last.tool_call))[:_LONGEST_LINE]}"


def _first_seconds() -> float:
    try:
        return float(os.environ.get("AGENTNB_PROGRESS_SECONDS", FIRST_S))
    except ValueError:  # already reported when the settings were read
        return FIRST_S


def terminal() -> int | None:
    """The descriptor of the terminal that was stderr before the kernel took it; None if there is none."""
    kept = getattr(sys.stderr, "_original_stdstream_copy", None)
    descriptor = kept if isinstance(kept, int) else 2
    return descriptor if os.isatty(descriptor) else None
