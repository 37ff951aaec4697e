"""Runs an agent's code in the user's shell, and reads the saved notebook where no page answers."""

from __future__ import annotations

import asyncio
import inspect as python_inspect
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import asdict, replace

from agentnb.api.attachments import describe, summarize
from agentnb.errors import UsageError
from agentnb.ipython.capture import ShellNamespace
from agentnb.ipython.cell_outputs import is_running_cell
from agentnb.ipython.execution import Execution, ObjectLook
from agentnb.kernel.code_runner import Edited, NotebookCell, NotebookView, UserVariable
from agentnb.kernel.content import image_blocks
from agentnb.kernel.job_queue import scheduler_of
from agentnb.kernel.output_text import read_outputs, without_colours
from agentnb.kernel.rehearsal_result import begin_code
from agentnb.kernel.variables.summary import follow
from agentnb.safe_json import read_json
from agentnb.server.comm.lab import current_notebook, lab
from agentnb.server.comm.open_notebooks import file_of, joined, named_notebook, open_notebooks
from agentnb.server.lab_messages import EditedParams, EditParams

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from agentnb.kernel.code_runner import CellStep, CodeWatch, Edit
    from agentnb.kernel.job_queue import JobQueue, MainThreadWork
    from agentnb.kernel.rehearsal_result import Rehearsal
    from agentnb.server.comm.notebook import PageNotebook


LONGEST_OUTPUT = 4_000
"""Characters of one cell's outputs."""


def read_cells(path: str, outputs: bool) -> tuple[NotebookCell, ...]:
    try:
        cells = read_json(Path(path).read_text(encoding="utf-8"))["cells"]
        return tuple(_cell(cell, outputs) for cell in cells)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(f"The notebook {path!r} cannot be read: {type(error).__name__}.") from error


def _cell(cell: dict[str, Any], outputs: bool) -> NotebookCell:
    return NotebookCell(
        id=cell.get("id", ""),
        kind=cell["cell_type"],
        source=joined(cell["source"]),
        count=cell.get("execution_count"),
        output=output_text(cell.get("outputs") or []) if outputs else "",
    )


def output_text(outputs: list[dict[str, Any]]) -> str:
    """Outputs (nbformat) as text, at most :data:`LONGEST_OUTPUT` characters; pictures are only mentioned."""
    pieces = filter(None, map(_output, outputs))
    text = without_colours("\n".join(piece.rstrip("\n") for piece in pieces))
    return text if len(text) <= LONGEST_OUTPUT else f"{text[:LONGEST_OUTPUT]}\n… (cut)"


def _output(output: dict[str, Any]) -> str:
    match output.get("output_type"):
        case "stream":
            return joined(output.get("text", ""))
        case "error":
            return f"{output.get('ename')}: {output.get('evalue')}"
    data = output.get("data") or {}
    for kind in ("text/markdown", "text/plain"):
        if kind in data:
            return joined(data[kind])
    return f"(shows {', '.join(sorted(data))})" if data else ""


T = TypeVar("T")

SESSION = "JPY_SESSION_NAME"
ANSWER_SECONDS = 15.0
"""Seconds that a page may take to change a cell."""
OUTPUTS_SECONDS = 5.0
"""Seconds that a page may take to send the pictures of a cell that has run."""
RUN_SECONDS = 3_600.0
"""Seconds that a cell run by a page may take."""
_NO_PAGE = "Let the user open agentnb's sidebar beside the notebook (JupyterLab 4 or Notebook 7)"


class ShellCodeRunner:
    """Runs agents' code in one IPython shell (implements :class:`agentnb.kernel.code_runner.CodeRunner`)."""

    def __init__(self, shell: Any, job_queue: JobQueue) -> None:
        self._shell = shell
        self._job_queue = job_queue
        self.namespace: ShellNamespace = ShellNamespace(shell, job_queue)

    def variables(self) -> Sequence[UserVariable]:
        """The user's own variables, without modules and what IPython put there."""
        held = self.namespace.variables()
        return [_variable(name, held[name]) for name in sorted(held) if not python_inspect.ismodule(held[name])]

    def inspect(self, path: str) -> str:
        """The text that an agent gets for a mentioned variable; for a callable, also its docstring."""
        value = follow(path, dict(self._shell.user_ns))
        text = describe(value, path.strip()).model_representation or ""
        if not callable(value) or python_inspect.isfunction(value) or python_inspect.isclass(value):
            return text
        documented = python_inspect.getdoc(value)
        return f"{text}\n\n{documented}" if documented else text

    def notebook(self, *, outputs: bool, named: str | None = None) -> NotebookView:
        """The notebook that the page showed last; else the file that Jupyter started this kernel for."""
        session = os.environ.get(SESSION, "")
        notebooks = open_notebooks(lab())
        notebook = current_notebook() if named is None else named_notebook(named, notebooks)
        if notebook is not None:
            file = file_of(session, notebook, notebooks)
            return _live(notebook, file, self._outputs(file) if outputs else {})
        if not session.endswith(".ipynb") or not os.path.isfile(session):  # noqa: PTH113 - as text
            raise UsageError("The name of this notebook is unknown.", hint=f"{_NO_PAGE}.")
        return NotebookView(
            name=session, path=os.path.realpath(session), live=False, cells=read_cells(session, outputs)
        )

    def notebooks(self) -> Sequence[NotebookView]:
        notebooks = open_notebooks(lab())
        return [_live(each, file_of(os.environ.get(SESSION, ""), each, notebooks), {}) for each in notebooks]

    def executed_cells(self) -> Sequence[NotebookCell]:
        sources = [*self._shell.history_manager.input_hist_raw][1:]
        return [
            NotebookCell(id=f"In [{number}]", kind="code", source=source, count=number)
            for number, source in enumerate(sources, 1)
        ]

    def work(self, code: str, watch: CodeWatch | None = None) -> Execution:
        return Execution(self._shell, code, watch)

    def look(self, look: Callable[[], T]) -> MainThreadWork[T]:
        return ObjectLook(self._shell, look)

    def rehearse(self, code: str, seconds: float) -> Callable[[], Rehearsal]:
        """Rehearse *code* in a fork, where it runs as a cell does."""
        return begin_code(self._shell, code, str(Path.cwd()), seconds=seconds)

    async def edit(self, edit: Edit) -> Edited:
        """Ask the page that reported the notebook."""
        if current_notebook() is None:
            raise UsageError(f"No open page can {edit.action} a cell.", hint=f"{_NO_PAGE}, or use run_code.")
        # If a cell waits for this turn, the new run queues behind that cell.
        wait = edit.action == "run" and not self._job_queue.has_waiter
        fit = _fit(edit.notebook, {edit.cell_id} if edit.cell_id is not None else ())
        fields = asdict(edit)
        del fields["notebook"]
        params = EditParams(id="", wait=wait, **fields)
        done = await lab().edit(params, RUN_SECONDS if wait else ANSWER_SECONDS, notebook=fit)
        if done.error is not None:
            raise UsageError(done.error)
        cell = _named(done.cell_id)
        for conflict in done.conflicts or ():
            return Edited(text="", cell_id=conflict.cell_id, is_other=True, current=conflict.current)
        index = max(0, done.number - 1)
        if edit.action == "restart":
            return Edited(text="The kernel restarts.")
        if edit.action == "insert":
            return Edited(text=f"Inserted a cell (id {done.cell_id}).", cell_id=done.cell_id, index=index)
        if edit.action == "replace":
            return Edited(text=f"Replaced the text of {cell}.", cell_id=done.cell_id, index=index, before=done.before)
        if done.outputs is None:
            text = f"{cell} runs as soon as the kernel is free: when the cell that params has ended."
            return Edited(text=text[0].upper() + text[1:])
        raised = any(output.get("output_type") == "error" for output in done.outputs)
        read = read_outputs(await _shown_outputs(done, fit))
        return Edited(text=f"Ran {cell}.\n{read.text}".rstrip(), pictures=image_blocks(read), raised=raised)

    async def change_cells(
        self,
        notebook: str,
        steps: Sequence[CellStep],
        file_hashes: tuple[str, str] | None = None,
        *,
        exact: bool = False,
    ) -> Mapping[str, str | None]:
        """Ask the page that shows *notebook*."""
        fit = _fit(notebook, {each for step in steps for each in (step.cell_id, step.below) if each is not None})
        params = EditParams(id="", action="change", steps=tuple(steps), exact=exact, file_hashes=file_hashes)
        done = await lab().edit(params, ANSWER_SECONDS, notebook=fit)
        if done.error is not None:
            raise UsageError(done.error)
        return {conflict.cell_id: conflict.current for conflict in done.conflicts or ()}

    async def read_cell(self, notebook: str, cell_id: str) -> str:
        """Ask the page that shows *notebook*."""
        params = EditParams(id="", action="read", cell_id=cell_id)
        done = await lab().edit(params, ANSWER_SECONDS, notebook=_fit(notebook, {cell_id}))
        if done.before is None:
            raise UsageError(done.error or "The cell's text is too long to be read.")
        return done.before

    def _outputs(self, file: Path | None) -> dict[str, str]:
        """The saved outputs by cell id; the page reports only sources."""
        cells = read_cells(str(file), outputs=True) if file is not None else ()
        return {cell.id: cell.output for cell in cells}


async def _shown_outputs(done: EditedParams, fit: Callable[[PageNotebook], int]) -> Sequence[Mapping[str, Any]]:
    """The outputs of a cell that was run, with their pictures if the page sends them."""
    look = partial(lab().outputs, (done.cell_id,), OUTPUTS_SECONDS, notebook=fit)
    cells = await asyncio.to_thread(look) if done.outputs else ()
    return next((cell.outputs for cell in cells if cell.cell_id == done.cell_id), done.outputs or ())


def _fit(notebook: str, cell_ids: Collection[str]) -> Callable[[PageNotebook], int]:
    """Returns a function that scores a page's notebook: 2 for its path, now or earlier, and 1 for any of the cells."""

    def fit(open_notebook: PageNotebook) -> int:
        return 2 * open_notebook.is_at(notebook) + any(cell.id in cell_ids for cell in open_notebook.cells)

    return fit


def _named(cell_id: str) -> str:
    """The name of the cell as its page last reported it, which was after the edit."""
    cells = (cell for notebook in open_notebooks(lab()) for cell in notebook.cells)
    count = next((cell.count for cell in cells if cell.id == cell_id), None)
    return f"In [{count}] (id {cell_id})" if count else f"the cell (id {cell_id})"


def _live(page: PageNotebook, file: Path | None, outputs: dict[str, str]) -> NotebookView:
    cells = tuple(replace(cell, output=outputs.get(cell.id, "")) for cell in page.cells)
    path = os.path.realpath(file) if file is not None else None
    return NotebookView(name=page.path, path=path, live=True, cells=cells, start=page.first, read_only=page.read_only)


def _variable(name: str, value: Any) -> UserVariable:
    try:
        return UserVariable(name=name, detail=summarize(value), size=_size(value))
    except Exception as error:  # noqa: BLE001 - a user's object may raise anything when looked at
        return UserVariable(name=name, detail=f"{type(value).__name__} (cannot be looked at: {type(error).__name__})")


def _size(value: Any) -> int | None:
    used: Callable[..., Any] | None = getattr(value, "memory_usage", None)
    if callable(used) and hasattr(value, "dtypes"):
        total = used()
        return int(total.sum() if hasattr(total, "sum") else total)
    held = getattr(value, "nbytes", None)
    return held if isinstance(held, int) else sys.getsizeof(value)


def connect_job_queue(shell: Any, job_queue: JobQueue) -> None:
    """Let *job_queue* run agents' code whenever *shell* runs no cell."""
    job_queue.is_main_thread_busy = lambda: is_running_cell(shell)
    loop = getattr(getattr(getattr(shell, "kernel", None), "io_loop", None), "asyncio_loop", None)
    if loop is None:
        return
    if job_queue.schedule is None:
        shell.events.register("post_run_cell", lambda *_: job_queue.wake())
    job_queue.schedule = scheduler_of(loop)
