"""The notebooks that pages have open, for code that uses their files (:class:`agentnb.host.environment.Editors`).

A page reports its notebook's path on its Jupyter server. Only the kernel's session shows where that is on this machine
(``JPY_SESSION_NAME``, absolute if the page named the notebook when it started the kernel).
"""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from agentnb.errors import UsageError
from agentnb.host.environment import current_environment
from agentnb.safe_json import read_json
from agentnb.server.lab_messages import MOST_CELLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentnb.kernel.code_runner import NotebookCell
    from agentnb.server.comm.lab import Lab
    from agentnb.server.comm.notebook import PageNotebook
    from agentnb.server.lab_messages import SavedParams


Cell: TypeAlias = dict[str, Any]
FORMAT = 4
CUT = "# [agentnb: the rest of this cell is not saved, and is in the notebook's page only]\n"
"""The last line of a new cell that a page has sent only in part."""


def over(saved: str, cells: Sequence[NotebookCell]) -> str:
    """Returns the notebook *saved* with the sources in *cells*: new cells added, removed ones left out."""
    try:
        notebook = read_json(saved, repair=False)
    except ValueError:
        return saved
    before = notebook.get("cells") if isinstance(notebook, dict) and notebook.get("nbformat") == FORMAT else None
    if not isinstance(before, list) or not all(isinstance(cell, dict) for cell in before):
        return saved
    after = _matched(before, cells)
    if after is None or after == before:
        return saved
    return _written({**notebook, "cells": after})


def _written(notebook: dict[str, Any]) -> str:
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair in the text
        text = json.dumps(notebook, indent=1)
    return f"{text}\n"


def _matched(before: list[Cell], cells: Sequence[NotebookCell]) -> list[Cell] | None:
    """Returns the cells as they are now; None if they are not those of *before*."""
    by_id = {cell["id"]: cell for cell in before if isinstance(cell.get("id"), str)}
    if len(by_id) < len(before):
        return _by_place(before, cells)
    if before and by_id.keys().isdisjoint(cell.id for cell in cells):  # another notebook with that name
        return None
    if len(cells) >= MOST_CELLS:
        cells_by_id = {cell.id: cell for cell in cells}
        return [_changed(cell, cells_by_id[cell["id"]]) if cell["id"] in cells_by_id else cell for cell in before]
    return [_changed(by_id[cell.id], cell) if cell.id in by_id else _new(cell) for cell in cells]


def _by_place(before: list[Cell], cells: Sequence[NotebookCell]) -> list[Cell] | None:
    if any("id" in cell for cell in before) or len(before) != len(cells):
        return None
    return [_changed(old, cell) for old, cell in zip(before, cells, strict=True)]


def _changed(old: Cell, cell: NotebookCell) -> Cell:
    if cell.kind != old.get("cell_type"):
        changed = {**_new(cell), "metadata": old.get("metadata", {})}
        return {key: value for key, value in changed.items() if key != "id" or "id" in old}
    if cell.cut or cell.source == joined(old.get("source", "")):
        return old
    return {**old, "source": cell.source.splitlines(keepends=True)}


def _new(cell: NotebookCell) -> Cell:
    source = f"{cell.source}\n{CUT}" if cell.cut else cell.source
    ran: Cell = {"execution_count": None, "outputs": []} if cell.kind == "code" else {}
    lines = source.splitlines(keepends=True)
    made: Cell = {"cell_type": cell.kind, "id": cell.id, "metadata": {}, "source": lines, **ran}
    return dict(sorted(made.items()))


def joined(text: Any) -> str:
    """Returns a text of a notebook file, which may be stored as a list of lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


_OF_FOLDERS = frozenset({"rename", "delete"})
"""The operations that a user can also apply to folders with all their contents."""


class UnsavedNotebook:
    editor = "your browser"
    """The place of the changes, in a sentence for the user: right for JupyterLab and for Notebook 7."""

    def __init__(self, notebook: PageNotebook, *, overtaken: bool = False) -> None:
        self._notebook = notebook
        self._overtaken = overtaken

    def over(self, saved: str) -> str:
        return saved if self._overtaken else over(saved, self._notebook.cells)


class OpenNotebooks:
    def __init__(self, lab: Lab, *, attached: Callable[[], bool], environment: Mapping[str, str] = os.environ) -> None:
        self._lab = lab
        self._attached = attached
        self._environment = environment

    def unsaved(self, path: str) -> UnsavedNotebook | None:
        """Returns the notebook *path* as its page has it; None if that is saved, or not known."""
        if not path.endswith(".ipynb") or not self._attached():
            return None
        session = self._environment.get("JPY_SESSION_NAME", "")
        for notebook, since in self._lab.notebooks:
            file = notebook_file(session, notebook.path)
            if file is not None and _is_same(file, path):
                overtaken = file.stat().st_mtime > since
                return UnsavedNotebook(notebook, overtaken=overtaken) if notebook.unsaved else None
        return None

    def was_saved(self, path: str, since: int, until: int) -> bool:
        """True if the file *path* was saved, created, renamed or deleted through Jupyter between two moments."""
        return bool(self._saved(path, since, until))

    def was_autosaved(self, path: str, since: int, until: int) -> bool:
        """True if JupyterLab autosaved the file *path* between two moments, and the user did nothing to it."""
        saved = self._saved(path, since, until)
        return bool(saved) and all(each.is_automatic for each in saved)

    def _saved(self, path: str, since: int, until: int) -> list[SavedParams]:
        """Returns what was done between two moments to the file *path*, or to a folder that contains it."""
        root = self._server_root()
        places = [path, *map(str, PurePosixPath(path).parents)]

        def concerns(change: SavedParams) -> bool:
            names = [each.strip("/") for each in (change.path, change.was) if each]
            of = places if change.type in _OF_FOLDERS else [path]
            return any(_names(place, each, root) for place in of for each in names)

        return [change for change, at in self._lab.saved if since <= at * 1000 <= until and concerns(change)]

    def _server_root(self) -> Path | None:
        """Returns the folder that the server's paths are relative to; None if no open notebook's path reveals it."""
        session = self._environment.get("JPY_SESSION_NAME", "")
        for notebook, _ in self._lab.notebooks:
            file = notebook_file(session, notebook.path)
            if file is not None:
                return Path(*file.parts[: -len(PurePosixPath(notebook.path).parts)])
        return None


def notebook_file(session: str, notebook_path: str) -> Path | None:
    """Returns the file of the notebook that a page calls *notebook_path*; None if it is unknown."""
    started, named = Path(session), PurePosixPath(notebook_path)
    if not started.is_absolute() or not named.name or ".." in named.parts:
        return None
    file = started if started.exists() else started.with_name(named.name)  # the notebook may have been renamed since
    return file if _ends(file.parts, named.parts) and file.is_file() else None


def path_of_notebook(named: str) -> Path:
    """Returns the file of the notebook *named*: a path, or a page's name of it; the kernel's own if empty.

    Raises:
        UsageError: If the file is not known.
    """
    if Path(named).is_absolute():
        return Path(named).resolve()
    own = notebook_file(os.environ.get("JPY_SESSION_NAME", ""), named)
    if own is not None:
        return own.resolve()
    runner = current_environment().code_runner()
    path = None if runner is None else runner.notebook(outputs=False, named=named or None).path
    if path is None:
        raise UsageError("The name of this notebook is unknown.", hint="Save it under a name first.")
    return Path(path)


def open_notebooks(lab: Lab) -> list[PageNotebook]:
    """Returns the notebooks that pages have open, last used first; one that two pages have is listed once."""
    notebooks: dict[str, PageNotebook] = {}
    for notebook, _ in lab.notebooks:
        notebooks.setdefault(notebook.path, notebook)
    return [*notebooks.values()]


def named_notebook(named: str, notebooks: Sequence[PageNotebook]) -> PageNotebook:
    """Returns the one of *notebooks* that *named* identifies: a path, or a name that no other has."""
    wanted = PurePosixPath(named.strip().strip("/"))
    matching = [each for each in notebooks if each.path == str(wanted)]
    matching = matching or [each for each in notebooks if _is_called(PurePosixPath(each.path), wanted)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        paths = ", ".join(each.path for each in matching)
        raise UsageError(
            f"{len(matching)} open notebooks are called {named!r}.", hint=f"Specify one by its path: {paths}."
        )
    paths = ", ".join(each.path for each in notebooks)
    hint = f"Open with this kernel: {paths}." if paths else "No page has a notebook open with this kernel."
    raise UsageError(f"The notebook {named!r} is not open.", hint=hint)


def _is_called(path: PurePosixPath, wanted: PurePosixPath) -> bool:
    end = path.parts[-len(wanted.parts) :] if wanted.parts else ()
    return bool(end) and wanted.parts in {end, (*end[:-1], PurePosixPath(end[-1]).stem)}


def file_of(session: str, notebook: PageNotebook, notebooks: Iterable[PageNotebook]) -> Path | None:
    if (file := notebook_file(session, notebook.path)) is not None:
        return file
    named = PurePosixPath(notebook.path)
    for own in notebooks:
        if (known := notebook_file(session, own.path)) is not None and ".." not in named.parts:
            file = Path(*known.parts[: -len(PurePosixPath(own.path).parts)], *named.parts)
            return file if file.is_file() else None
    return None


def _ends(parts: tuple[str, ...], tail: tuple[str, ...]) -> bool:
    return len(parts) > len(tail) and parts[-len(tail) :] == tail


def _names(path: str, notebook_path: str, root: Path | None) -> bool:
    """True if *notebook_path*, a path on the server, is the file *path*; compares the ends if *root* is unknown."""
    if root is not None:
        return os.path.realpath(root / notebook_path) == os.path.realpath(path)
    return _ends(PurePosixPath(path).parts, PurePosixPath(notebook_path).parts)


def _is_same(file: Path, path: str) -> bool:
    try:
        return file.samefile(path)
    except OSError:
        return False
