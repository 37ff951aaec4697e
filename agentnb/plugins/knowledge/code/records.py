"""Answers of code intelligence: places, descriptions, completions, problems, and a renaming as a set of changes."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec


class Question(NamedTuple):
    """A question about code.

    Attributes:
        nothing: The text for the agent if there is no answer.
        method: The request of the Language Server Protocol that answers it; empty if jedi can answer it, too.
        capability: The capability that a server needs for it.
        needs: Its name in the error if no server offers it.
    """

    nothing: str
    method: str = ""
    capability: str = ""
    needs: str = ""


_NO_PLACE = "There is no name there that the notebook, the workspace or an installed package defines."
QUESTIONS: dict[str, Question] = {
    "definition": Question(_NO_PLACE),
    "references": Question(_NO_PLACE),
    "describe": Question("Nothing is known about it: neither the code nor a live variable says what it is."),
    "complete": Question("No completions found."),
    "problems": Question("No problem was found."),
    "rename": Question(""),
    "symbols": Question(
        "Nothing is defined there.", "textDocument/documentSymbol", "documentSymbolProvider", "symbols of a file"
    ),
    "workspace_symbols": Question(
        "Nothing with that name is defined.", "workspace/symbol", "workspaceSymbolProvider", "symbols of the workspace"
    ),
    "implementation": Question(
        _NO_PLACE, "textDocument/implementation", "implementationProvider", "places of implementations"
    ),
    "type_definition": Question(
        _NO_PLACE, "textDocument/typeDefinition", "typeDefinitionProvider", "places where types are defined"
    ),
    "actions": Question(
        "The language server offers no change there.", "textDocument/codeAction", "codeActionProvider", "code actions"
    ),
    "format": Question(
        "It is already formatted.", "textDocument/formatting", "documentFormattingProvider", "formatting"
    ),
}
EDITS = ("actions", "format")
"""The questions whose answers are edits."""
SYMBOL_KINDS = (
    *("", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum"),
    *("interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key"),
    *("null", "enum member", "struct", "event", "operator", "type parameter"),
)
"""LSP ``SymbolKind`` by its number."""


Severity = Literal["error", "warning", "hint"]


class CodePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The position in the code that a query refers to."""

    symbol: str | None = None
    cell_id: str | None = None
    path: str | None = None
    line: int | None = None
    column: int | None = None


class CodeLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The position of a name.

    It names a cell by its id, so that it stays true if the cell moves.
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
