"""The questions about code, in one table: jedi answers those without a method; a language server the others."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A question about code.

    Attributes:
        nothing: What the agent reads where there is no answer.
        method: The request of the Language Server Protocol that answers it; empty where jedi can, too.
        capability: What a server has to offer for it.
        needs: What it is called where a server does not offer it.
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
"""The questions whose answers are changes."""
SYMBOL_KINDS = (
    *("", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum"),
    *("interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object", "key"),
    *("null", "enum member", "struct", "event", "operator", "type parameter"),
)
"""LSP ``SymbolKind`` by its number."""
