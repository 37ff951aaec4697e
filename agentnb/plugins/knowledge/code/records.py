"""Answers of code intelligence: places, descriptions, completions, problems, and a renaming as a set of changes."""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "hint"]


class CodePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a question about code is asked.

    With ``symbol``: at its last part, where it stands first in the line, cell or file that is given; where none is
    given, as if it were typed below the last cell. Without: at ``line`` and ``column``.

    Args:
        symbol: A name, or several with dots, as ``df.merge``.
        cell_id: The cell.
        path: Instead of a cell: a file of the workspace.
        line: The line in it, from 1.
        column: The column, from 0, in characters.
    """

    symbol: str | None = None
    cell_id: str | None = None
    path: str | None = None
    line: int | None = None
    column: int | None = None


class CodeLocation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a name stands. A cell is told by its id, so that this stays true where the cell moves.

    Args:
        name: The name.
        kind: ``"function"``, ``"class"``, ``"module"``, ``"param"``, ``"statement"`` or another of jedi's words.
        full_name: The name with its modules, as ``json.decoder.JSONDecoder``; empty where that is not known.
        cell_id: The cell it stands in.
        path: The file it stands in; None for a cell, and for what is compiled.
        line: The line, from 1; 0 for what is compiled.
        column: The column, from 0, in characters.
        text: The line's text.
    """

    name: str
    kind: str = ""
    full_name: str = ""
    cell_id: str | None = None
    path: str | None = None
    line: int = 0
    column: int = 0
    text: str = ""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a name.

    Args:
        name: The name.
        kind: As in :class:`CodeLocation`.
        full_name: As in :class:`CodeLocation`.
        signatures: How it is called.
        docs: Its documentation, cut at :data:`agentnb.plugins.knowledge.code.service.MOST_DOCS` characters.
        is_live: Whether only the live variable's type says this, and no text.
    """

    name: str
    kind: str
    full_name: str = ""
    signatures: tuple[str, ...] = ()
    docs: str = ""
    is_live: bool = False


class CodeCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """A name that can stand at a place.

    Args:
        name: The whole name.
        kind: As in :class:`CodeLocation`.
    """

    name: str
    kind: str


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in a cell or file.

    Args:
        message: What is wrong.
        severity: How bad it is.
        source: Who says so: ``"python"``, or a language server's name.
        code: The rule's code, where there is one.
        cell_id: The cell.
        path: Instead of a cell: the file.
        line: The line, from 1.
        column: The column, from 0, in characters.
    """

    message: str
    severity: Severity = "error"
    source: str = "python"
    code: str = ""
    cell_id: str | None = None
    path: str | None = None
    line: int = 1
    column: int = 0


class TextChange(msgspec.Struct, frozen=True, kw_only=True):
    """One cell or file of a renaming.

    Args:
        before: Its text.
        after: Its text afterwards.
        count: How many places change.
        cell_id: The cell.
        path: Instead of a cell: the file.
    """

    before: str
    after: str
    count: int
    cell_id: str | None = None
    path: str | None = None


class Renaming(msgspec.Struct, frozen=True, kw_only=True):
    """A renaming as a set of changes. Nothing has been changed yet.

    Args:
        old_name: The name.
        new_name: Its new name.
        changes: The cells and files that change.
        notes: What the user should know: whole sentences.
    """

    old_name: str
    new_name: str
    changes: tuple[TextChange, ...]
    notes: tuple[str, ...] = ()
