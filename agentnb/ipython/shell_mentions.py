"""Finds the mentions that prompts can use in the user's shell, and example prompts that fit the notebook.

Files and cells are looked up on the calling thread. The user's objects are looked at on the main thread only, because
they need not be thread-safe; while that thread runs a cell, a variable is described only by its type.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from inspect import ismodule
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from agentnb.api.attachments import summarize
from agentnb.errors import AgentnbError, KernelBusy
from agentnb.host.environment import Suggestion
from agentnb.ipython.cell_errors import errors_of
from agentnb.ipython.cell_outputs import has_live_figure, outputs_of
from agentnb.ipython.cells import cells_run, shown_notebook
from agentnb.ipython.execution import ObjectLook
from agentnb.ipython.mentions import (
    SHELL_NAMES,
    KnownOutputs,
    attachments,
    file_names,
    mentioned,
    represented,
    scope_of,
    visible,
)
from agentnb.server.comm.lab import current_notebook, lab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentnb.kernel.job_queue import JobQueue, MainThreadWork
    from agentnb.server.lab_messages import CellOutputsParams
    from agentnb.state import MessageAttachment

    OnMainThread = Callable[[Callable[[], str]], str]

MOST_EXAMPLES = 3
LONGEST_NAME = 40
"""The longest name of a column or variable, in characters; a longer one is replaced by another variable's."""
_COLUMNS_LOOKED_AT = 100
_FRAME = re.compile(r"(?:\A|[a-z])DataFrame\Z")
_GROUPS = re.compile(r"object|str|string|category|categorical|enum|bool", re.IGNORECASE)
"""The beginning of the type names of columns whose values make groups."""
_PROMPT = re.compile(r"\s*%{1,2}agents?\b")
NOTHING_YET = (
    "Write a cell that loads a CSV file into a DataFrame",
    "Plot a sine wave in a new cell",
    "What can you do in this notebook?",
)


def example_prompts(shell: Any, names: Sequence[str], on_main_thread: OnMainThread) -> tuple[str, ...]:
    """Prompts that fit the notebook, at most :data:`MOST_EXAMPLES`."""
    prompts = [*_about_a_cell(shell), *_about_a_table(shell, names, on_main_thread), *_about_an_error(shell)]
    if len(prompts) < MOST_EXAMPLES:
        prompts += _about_all(shell)
    return tuple([*prompts, *NOTHING_YET][:MOST_EXAMPLES])


def _about_a_cell(shell: Any) -> Iterator[str]:
    """A prompt about the longest cell that has run: it says most."""
    cells = [cell for cell in shown_notebook(shell).cells if cell.count and not _PROMPT.match(cell.source)]
    if cells:
        yield f"Explain @cell:{max(cells, key=lambda cell: (cell.source.count(chr(10)), cell.count)).count}"


def _about_a_table(shell: Any, names: Sequence[str], on_main_thread: OnMainThread) -> Iterator[str]:
    values = ((name, shell.user_ns.get(name)) for name in names if len(name) <= LONGEST_NAME)
    name, frame = next(((name, value) for name, value in values if _FRAME.search(type(value).__name__)), ("", None))
    if not name:
        return
    try:
        column = on_main_thread(lambda: _column(frame))
    except AgentnbError:  # a cell is running: leave out the columns
        column = ""
    yield f"Plot @{name} by {column}" if column else f"Plot @{name}"


def _column(frame: Any) -> str:
    """The name of the first column whose values form groups, else of the first column; '' if there is none."""
    try:
        columns = list(zip(list(frame.columns)[:_COLUMNS_LOOKED_AT], list(frame.dtypes), strict=False))
    except Exception:  # noqa: BLE001 - a user's object may raise anything when it is looked at
        return ""
    named = [(name, kind) for name, kind in columns if _is_plain(name)]
    groups = [name for name, kind in named if _GROUPS.match(str(kind))]
    return next(iter([*groups, *(name for name, _ in named)]), "")


def _is_plain(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name.strip()) <= LONGEST_NAME and name.isprintable()


def _about_an_error(shell: Any) -> Iterator[str]:
    """A prompt about the last error, as long as its cell still shows it."""
    error, notebook = errors_of(shell).last, current_notebook()
    if error is None:
        return
    if notebook is not None and error.place.cell_id is not None:
        cell = next((each for each in notebook.cells if each.id == error.place.cell_id), None)
        if cell is None or cell.count != error.place.count:
            return
    yield "Fix the last error: @error"


def _about_all(shell: Any) -> Iterator[str]:
    number = len([cell for cell in shown_notebook(shell).cells if cell.source])
    if number > 1:
        yield f"Summarize the {number} cells of this notebook: @cells"


T = TypeVar("T")

MOST = 40
"""The most suggestions that are given at a time."""
RECENT_CELLS = 5
"""Cells with a number that come before the variables."""
PATIENCE_SECONDS = 0.5
"""Seconds that reading objects waits for a cell to end."""
_LOOK_SECONDS = 1.5
_PAGE_SECONDS = 1.5
_OWNER = "mentions"
_DETAIL_CHARACTERS = 80
_CELLS_LOOKED_AT = 200
_CHARACTERS_LOOKED_AT = 10_000
_NAME = re.compile(r"[^\W\d]\w*")
_nothing = object()


class ShellMentions:
    """The variables, files and cells that prompts can mention in one shell (a ``MentionSource``)."""

    def __init__(self, shell: Any, job_queue: JobQueue | None = None, patience: float = PATIENCE_SECONDS) -> None:
        self._shell = shell
        self._job_queue = job_queue
        self._patience = patience

    def suggest(self, start: str, cwd: Path) -> list[Suggestion]:
        """The mentions that contain *start*, most likely first."""
        suggestions = [one for one in self._all(start, cwd) if start.lower() in one.text.lower()]
        injected = self._shell.user_ns_hidden
        suggestions.sort(key=lambda one: (one.text in injected, not one.text.lower().startswith(start.lower())))
        return self._detailed(suggestions[:MOST])

    def attach(self, prompt: str, cwd: Path) -> tuple[MessageAttachment, ...]:
        """The attachments of the mentions in *prompt*, each once; an ``@`` without a meaning here is prose."""
        attached: dict[str, MessageAttachment] = {}
        is_busy = False

        def represent(value: Any, name: str) -> str | None:
            nonlocal is_busy
            try:
                return self._on_main_thread(lambda: represented(value, name), 0 if is_busy else self._patience)
            except AgentnbError as error:
                is_busy = isinstance(error, KernelBusy)  # wait only once, not for each variable
                return f"{name}: {type(value).__name__}. Its value is not shown: {error.message}"

        scope = scope_of(self._shell, cwd, represent, KnownOutputs(self._shell, _page_outputs, self._drawn))
        for name in mentioned(prompt):
            with contextlib.suppress(AgentnbError):
                for attachment in attachments("", [name], scope):
                    attached.setdefault(attachment.label, attachment)
        return tuple(attached.values())

    def examples(self) -> tuple[str, ...]:
        """Prompts that fit what the user has, for an empty conversation."""
        own, _ = names_by_recency(self._shell)
        return example_prompts(self._shell, own, lambda look: self._on_main_thread(look, self._patience))

    def _drawn(self, draw: Callable[[], bytes | None]) -> bytes | None:
        """A figure, drawn on the main thread; None if the thread does not get to it in time."""
        try:
            return self._on_main_thread(draw, self._patience)
        except AgentnbError:
            return None

    def _all(self, start: str, cwd: Path) -> Iterator[Suggestion]:
        folder, slash, _ = start.rpartition("/")
        files = (
            Suggestion(text=f"{folder}{slash}{entry}", kind="folder" if entry.endswith("/") else "file")
            for entry in file_names(cwd / folder)
        )
        if slash:
            yield from files
            return
        own, others = names_by_recency(self._shell)
        cells = list(self._numbered_cells())
        yield from self._last_error()
        yield from self._latest_figure()
        yield from self._current_cells()
        yield from cells[:RECENT_CELLS]
        yield from (Suggestion(text=name, kind="variable") for name in own)
        yield from files
        yield from cells[RECENT_CELLS:]
        if len(start) > 1:
            yield from (replace(each, text=each.text.replace("cell", "output")) for each in cells)
        yield from (Suggestion(text=name, kind="variable") for name in others if name not in SHELL_NAMES)

    def _last_error(self) -> Iterator[Suggestion]:
        error = errors_of(self._shell).last
        if error is not None and "error" not in self._shell.user_ns:
            yield Suggestion(text="error", kind="cell", detail=f"the last one: {error.title}"[:_DETAIL_CHARACTERS])

    def _latest_figure(self) -> Iterator[Suggestion]:
        count = outputs_of(self._shell).last_figure
        if (count is not None or has_live_figure()) and "plot" not in self._shell.user_ns:
            yield Suggestion(text="plot", kind="cell", detail=f"the latest figure{f', of [{count}]' if count else ''}")

    def _current_cells(self) -> Iterator[Suggestion]:
        if (notebook := current_notebook()) is not None:
            if notebook.active_cell is not None:
                yield Suggestion(
                    text="cell", kind="cell", detail=f"the active one: {_first(notebook.active_cell.source)}"
                )
            if notebook.selection:
                yield Suggestion(text="selection", kind="cell", detail=notebook.selection[:_DETAIL_CHARACTERS])
            elif notebook.selected:
                yield Suggestion(text="selection", kind="cell", detail=f"the {len(notebook.selected)} selected cells")
            yield Suggestion(text="cells", kind="cell", detail=f"all {len(notebook.cells)} cells")
        elif (run := len(cells_run(self._shell)) - 1) > 0:
            yield Suggestion(text="cells", kind="cell", detail=f"all {run} that were run")

    def _numbered_cells(self) -> Iterator[Suggestion]:
        """The cells that have a number, the latest first: those of the open notebook, else those that were run."""
        numbered = {cell.count: cell.source for cell in shown_notebook(self._shell).cells if cell.count}
        for number in sorted(numbered, reverse=True):
            yield Suggestion(text=f"cell:{number}", kind="cell", detail=_first(numbered[number]))

    def _detailed(self, suggestions: list[Suggestion]) -> list[Suggestion]:
        """*suggestions* with details of the variables among them."""
        values = {one.text: self._shell.user_ns.get(one.text) for one in suggestions if one.kind == "variable"}
        try:
            details = self._on_main_thread(lambda: _summaries(values), self._patience)
        except AgentnbError:
            details = {name: type(value).__name__ for name, value in values.items()}
        return [
            replace(one, detail=details[one.text][:_DETAIL_CHARACTERS]) if one.kind == "variable" else one
            for one in suggestions
        ]

    def _on_main_thread(self, look: Callable[[], T], patience: float) -> T:
        """The result of *look*, called on the main thread."""
        if threading.current_thread() is threading.main_thread():
            return look()
        if self._job_queue is None:
            raise KernelBusy("The kernel is busy with a cell.")
        work: MainThreadWork[T] = ObjectLook(self._shell, look)
        loop = asyncio.new_event_loop()  # a new loop for this thread: the queue works with any loop
        try:
            queued = self._job_queue.run(work, _OWNER, patience=patience, timeout=_LOOK_SECONDS)
            return loop.run_until_complete(queued)
        finally:
            loop.close()


def _page_outputs(cell_ids: Sequence[str]) -> Sequence[CellOutputsParams]:
    """The outputs that a page knows; none on the main thread, which may have to receive the answer."""
    if threading.current_thread() is threading.main_thread():
        return ()
    return lab().outputs(cell_ids, _PAGE_SECONDS)


def _summaries(values: dict[str, Any]) -> dict[str, str]:
    summaries = dict.fromkeys(values, "")
    for name, value in values.items():
        with contextlib.suppress(Exception):  # a user's object may raise any exception
            summaries[name] = summarize(value)
    return summaries


def names_by_recency(shell: Any) -> tuple[list[str], list[str]]:
    """The names in *shell*'s namespace: the user's own, the last used one first; and modules and injected names."""
    held, hidden = dict(shell.user_ns), shell.user_ns_hidden
    names = visible(held)
    injected = [name for name in names if held[name] is hidden.get(name, _nothing)]
    modules = [name for name in names if ismodule(held[name]) and name not in injected]
    left = dict.fromkeys(reversed([name for name in names if name not in {*injected, *modules}]))
    own: list[str] = []
    for cell in reversed(cells_run(shell)[-_CELLS_LOOKED_AT:]):
        words = _NAME.findall(cell[:_CHARACTERS_LOOKED_AT])
        used = [name for name in dict.fromkeys(reversed(words)) if name in left]
        own += used
        for name in used:
            del left[name]
    return [*own, *left], [*modules, *injected]


def _first(source: str) -> str:
    return next((line for line in source.splitlines() if line.strip()), "")[:_DETAIL_CHARACTERS]
