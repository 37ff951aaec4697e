"""One branch: a conversation in a copy of the kernel and of the workspace, and what came of it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from agentnb.api.history_rows import forget
from agentnb.errors import AgentnbError
from agentnb.plugins.branches.notebook_copy import WrittenFile, steps_to
from agentnb.plugins.map.asking import cost_of
from agentnb.state import ToolBlockContent

if TYPE_CHECKING:
    from collections.abc import Callable, Sized
    from pathlib import Path

    from agentnb.api.session import Session, Turn
    from agentnb.kernel.code_runner import CellStep
    from agentnb.plugins.branches.at_fork import AtFork
    from agentnb.plugins.branches.copy_serving import CopyAnswer
    from agentnb.plugins.branches.kernel_copy import KernelCopy
    from agentnb.plugins.branches.notebook_copy import NotebookCopy
    from agentnb.plugins.branches.runner import BranchThread
    from agentnb.plugins.map.workspaces import IsolatedWorkspace, WorkspaceChange
    from agentnb.plugins.verify.result import Verification

BranchState = Literal["running", "done", "failed", "kept", "discarded"]
MEASURE_SECONDS = 300.0
"""Seconds that a measure may take."""
LOOK_SECONDS = 60.0
"""Seconds in which a copy must report its changes; the agent's code may have broken it."""


def counted(files: Sized, cells: Sized, variables: Sized) -> list[str]:
    """Returns the number of changes of each kind, in words; kinds without any are left out."""
    counts = (("file", len(files)), ("cell", len(cells)), ("variable", len(variables)))
    return [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts if count]


class BranchChanges(Protocol):
    """The changes of a branch that *Keep* and a loop's measurement need, wherever the branch ran."""

    number: int
    agent: str
    files: tuple[WorkspaceChange, ...]
    cells: tuple[CellStep, ...]
    variables: dict[str, str]
    inserted: dict[str, str]

    @property
    def at_fork(self) -> AtFork | None:
        """The kernel's variables when it was copied."""
        ...

    @property
    def folder(self) -> Path: ...

    @property
    def notebook(self) -> NotebookCopy | None: ...

    def save(self, names: tuple[str, ...] | None = None, seconds: float | None = None) -> tuple[Path, CopyAnswer]:
        """Write the variables that the branch changed, or only *names*, to a file."""
        ...


class BranchParts(NamedTuple):
    kernel: KernelCopy
    notebook: NotebookCopy | None
    workspace: IsolatedWorkspace
    thread: BranchThread
    session: Session


class Branch:
    """One try. Made by :func:`agentnb.branches`; every attribute is current.

    Attributes:
        number: Its number, from 1.
        agent: The agent's name.
        way: How the kernel was copied: ``"fork"``, or ``"replay"`` if the notebook's cells were run in a fresh one.
        turn: The agent's turn in it.
        measure: The measure's value at its end; None before, and if there is none.
        error: Why it failed, or why it could not be measured; empty otherwise.
        verification: The outcome of running its notebook from the top; None if that was not used.
        files: The files that it changed in the workspace.
        cells: The changes of the notebook's cells.
        variables: The variables that it changed, each with ``"added"``, ``"changed"`` or ``"deleted"``.
        data_checks: Possible errors in tables that it changed, a line each.
        seconds: How long it took.
        kept_turn: The latest turn that kept it, or parts of it; None before.
        inserted: The ids in the notebook of the kept cells that it inserted.
    """

    def __init__(self, number: int, parts: BranchParts, turn: Turn) -> None:
        self.number = number
        self.parts = parts
        self.turn = turn
        self.agent: str = parts.session.agent
        self.way: str = parts.kernel.way
        self.measure: float | None = None
        self.error: str = ""
        self.verification: Verification | None = None
        self.files: tuple[WorkspaceChange, ...] = ()
        self.cells: tuple[CellStep, ...] = ()
        self.variables: dict[str, str] = {}
        self.data_checks: tuple[str, ...] = ()
        self.seconds: float = 0.0
        self.kept_turn: Turn | None = None
        self.inserted: dict[str, str] = {}
        self._file = WrittenFile(parts.notebook, parts.workspace.folder)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._state: BranchState = "running"

    @property
    def state(self) -> BranchState:
        """``"running"``, ``"done"``, ``"failed"``, ``"kept"`` or ``"discarded"``."""
        return self._state

    @property
    def at_fork(self) -> AtFork | None:
        """The kernel's variables when it was copied; None once it is closed."""
        return self.parts.kernel.at_fork

    @property
    def folder(self) -> Path:
        """Its copy of the workspace."""
        return self.parts.workspace.folder

    @property
    def notebook(self) -> NotebookCopy | None:
        """Its copy of the notebook; None where none is known."""
        return self.parts.notebook

    def save(self, names: tuple[str, ...] | None = None, seconds: float | None = None) -> tuple[Path, CopyAnswer]:
        """Have its kernel write the changed variables, or only *names*; returns the file, and which variables it has.

        Raises:
            AgentnbError: If the kernel does not.
        """
        box = self.folder.parent / "variables"
        return box, self.parts.kernel.ask("save", str(box), names=names, seconds=seconds)

    @property
    def why(self) -> str:
        """Why its kernel has ended; empty while it lives."""
        return self.parts.kernel.why

    @property
    def session(self) -> Session:
        """The conversation, which can go on until the branch is kept or discarded."""
        return self.parts.session

    @property
    def text(self) -> str:
        """The agent's answer."""
        return self.turn.text

    @property
    def pictures(self) -> tuple[str, ...]:
        """The last pictures that its code showed, else those of other tools, PNG in base64."""
        if self.parts.kernel.pictures:
            return tuple(self.parts.kernel.pictures)
        content = (item for call in self.turn.tool_calls for item in call.content)
        blocks = (each.block for each in content if isinstance(each, ToolBlockContent))
        return tuple(str(each["data"]) for each in blocks if each.get("mimeType") == "image/png" and each.get("data"))

    @property
    def tokens(self) -> int | None:
        """The tokens that it used, where the agent says so."""
        usage = self.turn.usage
        return None if usage is None else (usage.input_tokens or 0) + (usage.output_tokens or 0)

    @property
    def costs(self) -> dict[str, float]:
        """What it cost, by currency, where the agent says so."""
        return cost_of(self.session)

    def finish(self, measure: str | None, verify: Callable[[Branch], Verification] | None) -> None:
        """Its turn has ended: collect what it did."""
        try:
            self.turn.raise_for_error()
            self.look(measure)
            if verify is not None:
                self.verification = verify(self)
        except AgentnbError as error:
            self.error = error.message
        self.seconds = time.monotonic() - self._began
        is_done = self.parts.kernel.is_alive and self.turn.state == "complete"
        with self._lock:
            if self._state == "running":
                self._state = "done" if is_done else "failed"

    def look(self, measure: str | None = None) -> None:
        """See what it has changed by now, and measure it."""
        kernel, notebook, workspace = self.parts.kernel, self.parts.notebook, self.parts.workspace
        self.files, left_out = self._file.take(workspace.changes())
        self.error = left_out or self.error
        if notebook is not None:
            self.cells = tuple(steps_to(notebook.before, notebook.view))
        answer = kernel.ask("changed", seconds=LOOK_SECONDS)
        self.variables, self.data_checks = answer.changed, answer.checks
        if measure is None:
            return
        try:
            self.measure = kernel.ask("measure", measure, seconds=MEASURE_SECONDS).value
        except AgentnbError as error:
            self.error = f"The measure failed. {error.message}"

    def close(self, state: BranchState) -> None:
        """End its processes, and delete its copies."""
        with self._lock:
            if self._state in ("kept", "discarded"):
                return
            self._state = state
        self.turn.cancel()
        self.session.close()
        if state == "discarded":
            with suppress(AgentnbError):  # the log is off, or does not have the session yet
                forget(self.session.tab_id)
        self.parts.kernel.close()
        self.parts.thread.close()
        self.parts.workspace.remove()

    def __repr__(self) -> str:
        return f"Branch {self.number} ({self.agent}): {self.summary}"

    @property
    def summary(self) -> str:
        """Its state, in one line."""
        parts: list[Any] = [self._state]
        parts += [f"measure {self.measure:.6g}"] if self.measure is not None else []
        parts += counted(self.files, self.cells, self.variables)
        parts += [] if self.verification is None else ["verified" if self.verification.ok else "not verified"]
        parts += [f"{self.tokens:,} tokens"] if self.tokens else []
        parts += [f"{self.seconds:.1f} s"] if self.seconds else []
        parts += [self.error] if self.error else []
        return " · ".join(parts)
