"""The interface of a kernel and a notebook, for the kernel tools; the IPython layer implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import msgspec

from agentnb.kernel.job_queue import MainThreadWork, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.kernel.variables.changes import NameChange
    from agentnb.kernel.variables.watch import VariableWatch

T = TypeVar("T")


class UserVariable(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    detail: str
    size: int | None = None


class RunFailure(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    message: str
    traceback: str


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    printed: str = ""
    result: str | None = None
    shown: tuple[dict[str, Any], ...] = ()
    failure: RunFailure | None = None
    stopped: Stop | None = None


class NotebookCell(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    source: str
    count: int | None = None
    output: str = ""
    cut: bool = False
    tags: tuple[str, ...] = ()
    editable: bool = True
    deletable: bool = True


class NotebookView(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str | None
    live: bool
    cells: tuple[NotebookCell, ...]
    start: int = 0
    read_only: bool = False


class Edit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of the notebook, which a browser page carries out."""

    action: Literal["insert", "replace", "run", "restart"]
    cell_id: str | None = None
    source: str = ""
    expected: str | None = None
    expected_is_cut: bool = False
    kind: Literal["code", "markdown"] = "code"
    notebook: str = ""


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an :class:`Edit`."""

    text: str
    pictures: tuple[dict[str, Any], ...] = ()
    raised: bool = False
    cell_id: str = ""
    index: int = 0
    before: str | None = None
    is_other: bool = False
    current: str | None = None


class CellStep(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One step of a change of several cells; ``outputs`` sets those of a cell whose text was *source* before."""

    action: Literal["insert", "replace", "delete", "move", "clear", "restore", "outputs"]
    cell_id: str
    kind: str = "code"
    new_kind: str | None = None
    expected_kind: str | None = None
    source: str = ""
    expected: str | None = ""
    tags: tuple[str, ...] | None = None
    expected_tags: tuple[str, ...] | None = None
    below: str | None = None
    index: int = 0
    outputs: tuple[dict[str, Any], ...] | None = None


class CodeWatch(Protocol):
    """Watches a piece of code while it runs; on the main thread only."""

    def running(self) -> AbstractContextManager[None]:
        """A context for the time the code runs; entered again for each step of code that awaits."""

    def finish(self) -> None:
        """Called when the code has ended."""


class CellWatch(CodeWatch, Protocol):
    """Watches a cell that a page runs."""

    def write(self, text: str) -> object:
        """Called on any thread when the cell has printed *text*."""


class Namespace(Protocol):
    """The user's variables.

    "From any thread" includes threads other than the main one.
    """

    def variables(self) -> dict[str, Any]:
        """The user's own variables and imported modules, by name; a new dict."""

    def bind(self, name: str, value: Any) -> None: ...

    def unbind(self, name: str) -> None:
        """Delete *name* if it exists."""

    def watch_cell(self, cell_id: str, source: str, watch: CellWatch, *, late: bool) -> Callable[[], None]:
        """Watch the next run of a cell, which a page runs for an agent."""

    def stop_cell(self, cell_id: str) -> bool:
        """Interrupt the watched cell, from any thread; False if it is not running."""

    def watch(self, code: str, ended: Callable[[Sequence[NameChange]], object]) -> VariableWatch:
        """A watch for *code*; at its end, *ended* is called on the main thread with the changes that it made."""

    def unrestorable(self, code: str, limit: int) -> tuple[str, ...]:
        """The names that *code* can reach and that could not be restored; from any thread."""

    def release(self, objects: Sequence[object]) -> None:
        """Free *objects* on the main thread, where their finalizers may run; from any thread."""


class CodeWork(MainThreadWork[Ran], Protocol):
    @property
    def started_at(self) -> int | None:
        """The time at which it began, in milliseconds since 1970; None before. Callable from any thread."""

    @property
    def printed(self) -> str:
        """The tail of what it has printed so far, unaltered. Callable from any thread."""


class CodeRunner(Protocol):
    """Runs code in a kernel, and reads its variables and its notebook.

    ``variables`` and ``inspect`` are called on the main thread (:meth:`look`), ``notebook`` on a separate thread.
    """

    def variables(self) -> Sequence[UserVariable]:
        """The user's variables, sorted by name."""

    def inspect(self, path: str) -> str:
        """A description of the object at *path*, such as ``df.columns`` or ``runs[0]["loss"]``."""

    def notebook(self, *, outputs: bool, named: str | None = None) -> NotebookView:
        """The notebook as a browser page has it open, else as its file was saved."""

    def notebooks(self) -> Sequence[NotebookView]:
        """The notebooks that pages have open with this kernel, the one that was used last first."""

    def executed_cells(self) -> Sequence[NotebookCell]:
        """The cells that this kernel has run, as they were then; their ids look like ``In [3]``."""

    @property
    def namespace(self) -> Namespace:
        """The user's variables, to be watched and bound."""

    def work(self, code: str, watch: CodeWatch | None = None) -> CodeWork:
        """*code* as a job for the main thread, which runs it like a cell, watched by *watch*."""

    def look(self, look: Callable[[], T]) -> MainThreadWork[T]:
        """*look* as a job for the main thread: looking at the user's objects runs their own code (``__repr__``)."""

    def rehearse(self, code: str, seconds: float) -> Callable[[], Rehearsal]:
        """Begin to rehearse *code* in a copy of this process; called on the main thread (:meth:`look`)."""

    async def edit(self, edit: Edit) -> Edited:
        """Change or run a cell, in the browser page that shows the notebook."""

    async def change_cells(
        self,
        notebook: str,
        steps: Sequence[CellStep],
        file_hashes: tuple[str, str] | None = None,
        *,
        exact: bool = False,
    ) -> Mapping[str, str | None]:
        """Do all *steps* in the page that shows *notebook*, or none."""

    async def read_cell(self, notebook: str, cell_id: str) -> str:
        """All of a cell's text, where :meth:`notebook` gave only its beginning."""
