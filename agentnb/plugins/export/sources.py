"""Reads a conversation from a notebook's file, a cassette, or a session in the log."""

from __future__ import annotations

import re
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.api.changes import HEAD, cells_of
from agentnb.api.columns import lines
from agentnb.changes.store import ChangeStore
from agentnb.errors import AgentnbError, UnknownSession, UsageError
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.records import all_records, count_by_kind
from agentnb.ids import new_id
from agentnb.log.location import log_location
from agentnb.log.store import LogStore
from agentnb.plugins.export.document import Document, DocumentEntry, heading
from agentnb.safe_json import read_json
from agentnb.server.comm.open_notebooks import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentnb.changes.model import PathChange
    from agentnb.host.changes.records import ConversationRecord


_HEAD = ("session", "agent", "turns", "files", "cells", "variables", "folder")
ID_CHARACTERS = 8


def conversations() -> str:
    """Returns a table of the conversations whose turns changed something, or a sentence if there are none."""
    records = [record for _, record in all_records(changes_folder())]
    if not records:
        return "No saved conversation has changed anything."
    return "\n".join(lines([_HEAD, *map(_row, records)]))


def conversation(name: str, *, diffs: bool = False) -> str:
    """Returns the changes of the conversation whose id begins with *name*."""
    those = [(path, each) for path, each in all_records(changes_folder()) if path.stem.startswith(name)]
    if len(those) != 1:
        what = "Several sessions whose id begins with" if those else "No session whose id begins with"
        raise UnknownSession(f"{what} {name!r} changed anything.", hint="`agentnb changes` lists those that did.")
    (path, record) = those[0]
    prompts = _prompts(record)
    diff = _differ(path, record)
    parts: list[str] = []
    for number, turn in enumerate(record.turns, 1):
        prompt = prompts.get(turn.turn_id, "")
        parts.append(f"{number}. {' '.join(prompt.split())[:200]}".rstrip())
        parts.append("\n".join([*lines([HEAD, *map(cells_of, turn.items)]), *turn.notes]))
        parts += [diff(item.name, item.file) for item in turn.items if item.file is not None] if diffs else []
    return "\n\n".join(parts)


def _row(record: ConversationRecord) -> tuple[str, ...]:
    counts = count_by_kind(item for turn in record.turns for item in turn.items)
    agent, _, tab_id = record.session.partition(":/")
    return (tab_id[:ID_CHARACTERS], agent, str(len(record.turns)), *map(str, counts.values()), record.workspace)


def _differ(path: Path, record: ConversationRecord) -> Callable[[str, PathChange], str]:
    """Returns a function for the diff of a file, or why there is none; the store is opened once, on first use."""

    @cache
    def store() -> ChangeStore:
        return ChangeStore(path.parents[1], Path(record.workspace), is_sensitive=lambda _: True)

    def diff(name: str, change: PathChange) -> str:
        try:
            return store().diff(change).rstrip("\n")
        except AgentnbError as error:
            return f"{name}: {error}"

    return diff


def _prompts(record: ConversationRecord) -> dict[str, str]:
    """Returns the prompts of the turns, as far as the log has them."""
    path = log_location()
    if path is None or not path.exists():
        return {}
    with closing(LogStore(path, new_id())) as store, suppress(AgentnbError):
        return {turn.id: turn.message.text for turn in store.load(record.session).chat.turns}
    return {}


_PROMPT = re.compile(r"^\s*(?:[\w.]+\s*=\s*)?%{1,2}agent(?:\s|$)")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_NAMELESS = re.compile(r"\s*<[^<>]*>\s*\Z")  # such as <Figure size 640x480>: does not describe the output
_OPTION = re.compile(r"(?:^|\s)(-a|--agent|-t|--tab)[ =]+(?:\"([^\"]*)\"|'([^']*)'|(\S+))")


def find(name: str) -> Document:
    path = Path(name).expanduser()
    if path.is_file():
        return _of_file(path)
    from agentnb.plugins.export.cassette import of_session

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
    if left and not images and (not text or _NAMELESS.match(text)):  # a document must not run code or load resources
        text = "\n".join(filter(None, [text, f"[Shown in the notebook only: {', '.join(left)}]"]))
    return DocumentEntry(kind="output", source="" if images else text, images=images) if text or images else None


def _plain(text: str) -> str:
    return _ESCAPES.sub("", text)


def _base64(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9+/=]", "", text)
