"""Examples of prompts for an empty conversation, made of what the user has: cells, tables, an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError
from agentnb.ipython.cell_errors import errors_of
from agentnb.ipython.cells import shown_notebook
from agentnb.server.comm.lab import current_notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MOST = 3
"""How many examples are given."""
LONGEST_NAME = 40
"""Characters of a column's name, or of a variable's, at most; another one is taken instead of a longer one."""
_COLUMNS_LOOKED_AT = 100
_FRAME = re.compile(r"(?:\A|[a-z])DataFrame\Z")
_GROUPS = re.compile(r"object|str|string|category|categorical|enum|bool", re.IGNORECASE)
"""How a type of columns begins whose values make groups."""
_PROMPT = re.compile(r"\s*%{1,2}agents?\b")
NOTHING_YET = (
    "Write a cell that loads a CSV file into a DataFrame",
    "Plot a sine wave in a new cell",
    "What can you do in this notebook?",
)


def example_prompts(
    shell: Any, names: Sequence[str], on_main_thread: Callable[[Callable[[], str]], str]
) -> tuple[str, ...]:
    """Prompts that fit the notebook, at most :data:`MOST`."""
    prompts = [*_about_a_cell(shell), *_about_a_table(shell, names, on_main_thread), *_about_an_error(shell)]
    if len(prompts) < MOST:
        prompts += _about_all(shell)
    return tuple([*prompts, *NOTHING_YET][:MOST])


def _about_a_cell(shell: Any) -> Iterator[str]:
    """The longest cell that has run says most."""
    cells = [cell for cell in shown_notebook(shell).cells if cell.count and not _PROMPT.match(cell.source)]
    if cells:
        yield f"Explain @cell:{max(cells, key=lambda cell: (cell.source.count(chr(10)), cell.count)).count}"


def _about_a_table(
    shell: Any, names: Sequence[str], on_main_thread: Callable[[Callable[[], str]], str]
) -> Iterator[str]:
    values = ((name, shell.user_ns.get(name)) for name in names if len(name) <= LONGEST_NAME)
    name, frame = next(((name, value) for name, value in values if _FRAME.search(type(value).__name__)), ("", None))
    if not name:
        return
    try:
        column = on_main_thread(lambda: _column(frame))
    except AgentnbError:  # a cell runs: its columns are not looked at
        column = ""
    yield f"Plot @{name} by {column}" if column else f"Plot @{name}"


def _column(frame: Any) -> str:
    """The name of the first column whose values make groups, else of the first; "" where none can be told."""
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
    """The last error, as long as its cell still shows it."""
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
