"""The formats besides HTML: Markdown, JSON lines, and a notebook."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.credentials import Credentials
from agentnb.errors import PluginFailed, UsageError
from agentnb.ipython.markdown import Fences, harmless_line
from agentnb.plugin_registry import plugins
from agentnb.plugins.export.page import page

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.plugins.export.document import Document, DocumentEntry


def exported(document: Document, form: str) -> str:
    document = _without_credentials(document)
    if form in FORMS:
        return FORMS[form](document)
    for plugin, exporter in plugins().offers("exporters"):
        if exporter.name == form:
            try:
                return str(exporter.export(as_markdown(document)))
            except Exception as error:  # an exporter may raise any exception
                raise PluginFailed(plugins().failed(plugin.name, f"the form {form!r}", error)) from error
    raise UsageError(f"There is no form {form!r}.", hint=f"There are {', '.join(forms())}.")


def forms() -> list[str]:
    """Returns the names of the forms, those of plug-ins last."""
    return [*FORMS, *(exporter.name for _, exporter in plugins().offers("exporters") if exporter.name not in FORMS)]


def _without_credentials(document: Document) -> Document:
    """Remove credentials, because an export is made to be passed on."""
    hidden = Credentials(os.environ).hidden
    entries = tuple(msgspec.structs.replace(entry, source=hidden(entry.source)) for entry in document.entries)
    notebook = None if document.notebook is None else _texts_hidden(document.notebook, hidden)
    return msgspec.structs.replace(document, title=hidden(document.title), entries=entries, notebook=notebook)


def _texts_hidden(value: Any, hidden: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, list):
        if all(isinstance(item, str) for item in value):  # a text as a list of lines
            return hidden("".join(value)).splitlines(keepends=True)
        return [_texts_hidden(item, hidden) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name.startswith("image/") else _texts_hidden(item, hidden) for name, item in value.items()
        }
    return value


def as_markdown(document: Document) -> str:
    """Returns one Markdown file: prose and answers as they are, everything else in code blocks."""
    blocks = [] if document.is_headed else [f"# {harmless_line(document.title)}"]
    for entry in document.entries:
        if entry.head:
            blocks.append(f"**{harmless_line(entry.head)}**")
        blocks.append(_block(entry))
        blocks += [f"![]({uri})" for uri in entry.images]
    return "\n\n".join(block for block in blocks if block) + "\n"


def as_jsonl(document: Document) -> str:
    """Returns JSON lines, one per entry."""
    return "".join(json.dumps(msgspec.to_builtins(entry), ensure_ascii=False) + "\n" for entry in document.entries)


def as_notebook(document: Document) -> str:
    """Returns a notebook that reads without a kernel: a notebook as it is, others with a cell for each prompt."""
    notebook = document.notebook or {
        "cells": _cells(document),
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


FORMS: dict[str, Callable[[Document], str]] = {
    "md": as_markdown,
    "html": page,
    "jsonl": as_jsonl,
    "ipynb": as_notebook,
}
"""Functions that make a document's text, by its format."""


def _block(entry: DocumentEntry) -> str:
    if entry.kind in ("text", "answer"):
        return entry.source
    language = "python" if entry.kind == "code" else ""
    return Fences.around([entry.source]).block(entry.source, language) if entry.source else ""


def _cells(document: Document) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = []
    for number, entry in enumerate(document.entries):
        if entry.kind == "prompt":
            options = " ".join(
                f"{flag} {json.dumps(name)}" for flag, name in (("-a", entry.agent), ("-t", entry.tab)) if name
            )
            cells.append(
                {
                    "cell_type": "code",
                    "execution_count": None,
                    "id": f"turn-{number}",
                    "metadata": {},
                    "outputs": [],
                    "source": f"%%agent {options}\n{entry.source}",
                }
            )
        elif cells and cells[-1]["cell_type"] == "code":
            data = {"text/markdown": entry.source}
            cells[-1]["outputs"].append({"output_type": "display_data", "data": data, "metadata": {}})
    return cells
