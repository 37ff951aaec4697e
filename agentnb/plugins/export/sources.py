"""Reads a conversation from a notebook's file, a cassette, or a session in the log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import UnknownSession, UsageError
from agentnb.plugins.export.document import Document, DocumentEntry, heading
from agentnb.safe_json import read_json
from agentnb.server.comm.notebook_text import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROMPT = re.compile(r"^\s*(?:[\w.]+\s*=\s*)?%{1,2}agent(?:\s|$)")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_NAMELESS = re.compile(r"\s*<[^<>]*>\s*\Z")  # such as <Figure size 640x480>: says nothing of what was shown
_OPTION = re.compile(r"(?:^|\s)(-a|--agent|-t|--tab)[ =]+(?:\"([^\"]*)\"|'([^']*)'|(\S+))")


def find(name: str) -> Document:
    """The conversation called *name*."""
    path = Path(name).expanduser()
    if path.is_file():
        return _of_file(path)
    from agentnb.plugins.export.session import of_session

    document = of_session(name)
    if document is not None:
        return document
    hint = "Give the path of a notebook or of a cassette, or the id of a session that was kept."
    raise UnknownSession(f"There is no file and no session called {name!r}.", hint=hint)


def _of_file(path: Path) -> Document:
    if path.suffix == ".ipynb":
        return of_notebook(path)
    if path.suffix == ".jsonl":
        from agentnb.plugins.export.cassette import of_cassette

        return of_cassette(path)
    hint = "It takes notebooks (.ipynb) and cassettes (.cassette.jsonl)."
    raise UsageError(f"{path} is neither a notebook nor a cassette.", hint=hint)


def of_notebook(path: Path) -> Document:
    try:
        notebook = read_json(path.read_text(encoding="utf-8"))
        cells = notebook["cells"]
        entries = tuple(entry for cell in cells for entry in _of_cell(cell))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = str(error) if isinstance(error, (OSError, ValueError)) else "it has no cells that can be read"
        raise UsageError(f"{path} is not a notebook: {what}.", hint="It must be a file of nbformat 4.") from error
    headed = heading(entries[0].source) if entries and entries[0].kind == "text" else None
    return Document(title=headed or path.stem, entries=entries, notebook=notebook)


def _of_cell(cell: dict[str, Any]) -> Iterator[DocumentEntry]:
    source = joined(cell.get("source", ""))
    if cell.get("cell_type") == "markdown":
        yield DocumentEntry(kind="text", source=source)
        return
    if cell.get("cell_type") != "code" or not source.strip():
        return
    asks = any(_PROMPT.match(line) for line in source.split("\n"))
    named = {match[1]: match[2] or match[3] or match[4] for match in _OPTION.finditer(source)} if asks else {}
    agent, tab = named.get("-a") or named.get("--agent"), named.get("-t") or named.get("--tab")
    yield DocumentEntry(kind="prompt" if asks else "code", source=source, agent=agent, tab=tab)
    for output in cell.get("outputs", ()):
        entry = _of_output(output, asks=asks)
        if entry is not None:
            yield entry


def _of_output(output: dict[str, Any], *, asks: bool) -> DocumentEntry | None:
    kind = output.get("output_type")
    if kind == "stream":
        return DocumentEntry(kind="output", source=_plain(joined(output.get("text", ""))))
    if kind == "error":
        return DocumentEntry(kind="error", source=_plain(f"{output.get('ename')}: {output.get('evalue')}"))
    data = output.get("data", {})
    images = tuple(f"data:{mime};base64,{_base64(joined(data[mime]))}" for mime in _IMAGES if mime in data)
    if "text/markdown" in data:
        return DocumentEntry(kind="answer" if asks else "text", source=joined(data["text/markdown"]), images=images)
    text = _plain(joined(data.get("text/plain", "")))
    left = sorted(set(data) - {"text/plain", *_IMAGES})
    if left and not images and (not text or _NAMELESS.match(text)):  # nothing in a document may run or fetch
        text = "\n".join(filter(None, [text, f"[Shown in the notebook only: {', '.join(left)}]"]))
    return DocumentEntry(kind="output", source="" if images else text, images=images) if text or images else None


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text)


def _base64(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9+/=]", "", text)
