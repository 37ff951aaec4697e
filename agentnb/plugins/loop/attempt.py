"""One try of a loop, in a branch of this kernel or on a worker: its turn, its measurement, and *Keep* or nothing."""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from msgspec.structs import replace

from agentnb.api.columns import on_one_line, shortened
from agentnb.errors import AgentnbError, FilesConflict, KernelChangesConflict
from agentnb.plugins.branches.branch import BranchChanges, counted
from agentnb.plugins.branches.branches import begin_branches
from agentnb.plugins.branches.preparing import CopyInterrupted
from agentnb.plugins.loop.judge import check_held
from agentnb.plugins.loop.ledger import LoopTry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.plugins.branches.branch import Branch
    from agentnb.plugins.loop.judge import Judge, Judged
    from agentnb.state import ErrorInfo

POLL_SECONDS = 0.3
GRACE_SECONDS = 20.0
"""Seconds that a stopped try may take to end before its processes are ended."""
LONGEST_IDEA = 120
SHOWN_TRIES = 20
_IDEA = re.compile(r"^[^\w\n]*idea[^\w\n:]*:(?P<idea>.+)$", re.IGNORECASE | re.MULTILINE)


class TryTurn(Protocol):
    @property
    def done(self) -> bool: ...

    @property
    def state(self) -> str: ...

    @property
    def error(self) -> ErrorInfo | None: ...

    def cancel(self) -> None: ...


class TryBranch(BranchChanges, Protocol):
    error: str

    @property
    def turn(self) -> TryTurn: ...

    @property
    def state(self) -> str:
        """See :attr:`agentnb.plugins.branches.branch.Branch.state`."""
        ...

    @property
    def text(self) -> str: ...

    @property
    def tokens(self) -> int | None: ...

    @property
    def costs(self) -> dict[str, float]:
        """The costs, by currency."""
        ...

    @property
    def why(self) -> str:
        """The reason its kernel has ended."""
        ...

    def close(self, state: Literal["discarded"]) -> None: ...


class RunningTry(Protocol):
    """A try, and what can be done with it."""

    @property
    def branch(self) -> TryBranch: ...

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* when its state changes."""
        ...

    def keep(self) -> object:
        """Bring what the try changed into the notebook."""
        ...

    def discard(self) -> None:
        """End the try, and discard it if it was not kept."""
        ...


BeginTry: TypeAlias = "Callable[[int, str, str], RunningTry]"
"""Begins a try, given its number, the prompt and the agent's additional instructions."""


class LocalTry:
    """One try in a branch of this kernel (:class:`RunningTry`), with these arguments of :func:`agentnb.start`."""

    def __init__(self, options: dict[str, Any], number: int, prompt: str, instructions: str) -> None:
        self._made = begin_branches(prompt, [options], instructions=instructions, first=number)

    @property
    def branch(self) -> Branch:
        return self._made[0]

    def listen(self, listener: Callable[[], None]) -> None:
        self._made.listen(listener)

    def keep(self) -> object:
        return self._made.keep(self.branch.number)

    def discard(self) -> None:
        self._made.discard()


class Rules(NamedTuple):
    """The rules of a loop for a try.

    Attributes:
        stop: Why the try must stop now, given what it has used; empty while it may go on.
        is_gain: True if a value is better than the current one.
        accept: True if what was measured is to be kept.
        keeping: Called before the try is kept.
    """

    stop: Callable[[LoopTry], str]
    is_gain: Callable[[float], bool]
    accept: Callable[[Judged], bool]
    keeping: Callable[[LoopTry, str], object]


class Attempt:
    """One try: its row in the ledger, its measurement, and the loop's rules for it."""

    def __init__(self, number: int, judge: Judge, rules: Rules) -> None:
        self.row: LoopTry = LoopTry(number=number, state="running")
        self.difference: str = ""
        self.ends_loop: str = ""
        self.judged: Judged | None = None
        self._judge = judge
        self._rules = rules
        self._files = judge.metric.file_digests()

    def run(self, prompt: str, begin: BeginTry, instructions: str) -> None:
        """Let the agent try, and keep what it did if that is better.

        Raises an AgentnbError if it could not begin, CopyInterrupted if the user interrupted it.
        """
        began = time.monotonic()
        made = begin(self.row.number, prompt, instructions)
        try:
            stopped = self._follow(made, began)
            self._note(made.branch, began)
            self._judge_and_keep(made, stopped)
        except CopyInterrupted:
            raise
        except AgentnbError as error:
            self.row = replace(self.row, state="failed", why=on_one_line(error.message))
        finally:
            made.discard()
            self.row = replace(self.row, seconds=time.monotonic() - began)

    def _follow(self, made: RunningTry, began: float) -> str:
        """Wait for the end of the turn; returns why it was stopped, or '' if it was not."""
        branch, changed, stopped, since = made.branch, threading.Event(), "", 0.0
        made.listen(changed.set)
        while branch.state == "running":
            changed.wait(POLL_SECONDS)
            if not stopped and not branch.turn.done:  # a turn that ended by itself keeps its result
                self._note(branch, began)
                if stopped := self._rules.stop(self.row):
                    since = time.monotonic()
                    branch.turn.cancel()
            elif stopped and time.monotonic() - since > GRACE_SECONDS:
                branch.close("discarded")  # also ends the processes that it waits for
        return stopped

    def _note(self, branch: TryBranch, began: float) -> None:
        """Note what the try has used so far, and what it did."""
        self.row = replace(
            self.row,
            agent=branch.agent,
            tokens=branch.tokens,
            costs=branch.costs,
            seconds=time.monotonic() - began,
            idea=idea_of(branch.text) if branch.state != "running" else "",
            changes=", ".join(counted(branch.files, branch.cells, branch.variables)),
        )

    def _judge_and_keep(self, made: RunningTry, stopped: str) -> None:
        branch = made.branch
        self.difference = difference_of(branch)
        if stopped:
            self.row = replace(self.row, state="stopped", why=stopped)
            return
        if branch.state != "done" or branch.error:
            error = branch.turn.error
            if error is not None and error.error_type == "BudgetExceeded":
                self.ends_loop = branch.error
            why = branch.error or branch.why or f"Its turn ended: {branch.turn.state}."
            self.row = replace(self.row, state="failed", why=on_one_line(why))
            return
        if not (branch.files or branch.cells or branch.variables):
            self.row = replace(self.row, state="unchanged", why="It changed nothing.")
            return
        check_held(self._files, self._judge.metric.file_digests(branch.folder))
        self.judged = self._judge.branch(branch, self._rules.is_gain)
        self.row = replace(self.row, values=self.judged.values)
        if not self._rules.accept(self.judged):
            chance = "The improvement was not confirmed." if self._rules.is_gain(self.judged.values[0]) else ""
            self.row = replace(self.row, state="not better", why=chance)
            return
        self._rules.keeping(self.row, self.difference)
        try:
            made.keep()
        except (FilesConflict, KernelChangesConflict) as error:
            self.row = replace(self.row, state="conflict", why=on_one_line(error.message))
        else:
            self.row = replace(self.row, state="kept")


def idea_of(text: str) -> str:
    """Returns the agent's own short description of what it tried: its line *Idea: …*, else its last line."""
    named = _IDEA.findall(text)
    lines = [each for each in text.splitlines() if each.strip()]
    idea = named[-1] if named else (lines[-1] if lines else "")
    return shortened(on_one_line(idea.strip("*_ \t")), LONGEST_IDEA)


def difference_of(branch: TryBranch) -> str:
    """Returns what a branch changed: diffs of files, texts of cells, names of variables."""
    files = [each.diff or f"{each.path} ({each.status})" for each in branch.files]
    cells = [f"{each.action} cell\n{each.source}" for each in branch.cells]
    names = [f"{name} ({status})" for name, status in branch.variables.items()]
    return "\n".join([*files, *cells, *names])


def instructions_for(
    number: int, metric: str, best: float, held: Sequence[str], rows: Sequence[LoopTry], *, higher_is_better: bool
) -> str:
    """Returns the instructions that the agent of a try gets besides the prompt."""
    better = "Higher" if higher_is_better else "Lower"
    lines = [
        f"This is try {number} of a loop. It is kept if it improves `{metric}`, which is {best:.6g} now.",
        f"{better} is better. You work in a copy of the notebook, of its kernel and of the workspace.",
        "Change variables, cells and files there, and run what you change.",
        "The metric is evaluated afterwards, out of your reach.",
    ]
    if held:
        lines.append(f"A try that changes one of these fails: {', '.join(held)}.")
    tried = [each for each in rows if each.number]
    if tried:
        lines.append("Earlier tries:")
        lines += [_line(each) for each in tried[-SHOWN_TRIES:]]
    lines.append("Try one idea that was not tried. End with a line `Idea: …` that names it in a few words.")
    return "\n".join(lines)


def _line(row: LoopTry) -> str:
    value = "" if row.metric is None else f" {row.metric:.6g}"
    why = f" ({row.why})" if row.why else ""
    return f"- {row.number}, {row.state}{value}: {row.idea}{why}"
