"""Answers of code intelligence: places, descriptions, completions, problems, and a renaming as a set of changes."""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "hint"]


class CodePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The position that a question about code is about."""

    symbol: str | None = None
    cell_id: str | None = None
    path: str | None = None
    line: int | None = None
    column: int | None = None


class CodeLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a name.

    A cell is told by its id, so that this stays true where the cell moves.
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
    """The description of a name."""

    name: str
    kind: str
    full_name: str = ""
    signatures: tuple[str, ...] = ()
    docs: str = ""
    is_live: bool = False


class CodeCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """A name that can stand at a place."""

    name: str
    kind: str


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in a cell or file."""

    message: str
    severity: Severity = "error"
    source: str = "python"
    code: str = ""
    cell_id: str | None = None
    path: str | None = None
    line: int = 1
    column: int = 0


class TextChange(msgspec.Struct, frozen=True, kw_only=True):
    """One cell or file that is changed."""

    before: str
    after: str
    count: int
    cell_id: str | None = None
    path: str | None = None


class Renaming(msgspec.Struct, frozen=True, kw_only=True):
    """A renaming as a set of changes."""

    old_name: str
    new_name: str
    changes: tuple[TextChange, ...]
    notes: tuple[str, ...] = ()


class CodeAction(msgspec.Struct, frozen=True, kw_only=True):
    """A change that a language server offers; nothing is changed by asking for it."""

    title: str
    kind: str = ""
    changes: tuple[TextChange, ...] = ()
    notes: tuple[str, ...] = ()
