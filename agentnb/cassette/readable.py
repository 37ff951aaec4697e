"""A cassette as text for people: for a review, and for ``git diff`` (as its ``textconv``).

A broken file, or one with a merge conflict, is shown as far as possible, since git must be able to compare it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentnb.cassette.compare import described
from agentnb.cassette.file import row_of
from agentnb.cassette.recording import PROMPT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SPEAKERS = {
    "agent_message_chunk": "Agent",
    "agent_thought_chunk": "Agent thinks",
    "user_message_chunk": "Agent repeats the user",
}
_OWN_ID = "⟦session⟧"


def readable(path: Path) -> str:
    reader = _Reader()
    lines: list[str] = []
    for row in path.read_bytes().split(b"\n"):
        lines += reader.lines(row)
    return "\n".join([*lines, *reader.rest()]).strip("\n") + "\n"


class _Reader:
    def __init__(self) -> None:
        self._turn = 0
        self._speaker = ""
        self._pieces: list[str] = []
        self._methods: dict[tuple[str, str], str] = {}

    def lines(self, data: bytes) -> Iterator[str]:
        if not data.strip():
            return
        row = row_of(data)
        if row is None:
            yield f"(not a line of a cassette) {data.decode('utf-8', 'replace')}"
        elif not {"pace", "end"} & row.keys():
            yield from self._row(row)

    def _row(self, row: dict[str, Any]) -> Iterator[str]:
        speaker, text = _spoken(row) or ("", "")
        if speaker != self._speaker:
            yield from self.rest()
            self._speaker = speaker
        if speaker:
            self._pieces.append(text)
        elif "cassette" in row:
            yield f"Cassette of version {row['cassette']}, written by {row.get('by')}"
            yield from _body({name: item for name, item in row.items() if name not in ("cassette", "by")})
        elif "agent" in row:
            self._turn = 0
            process = f"{row['agent']}, process {row.get('launch')}"
            yield from ("", f"## Session {row['session']}: {process}" if row.get("session") else f"## {process}")
            yield from _body(row.get("description"))
        elif "file" in row:
            status = "moved" if row.get("was") else "changed" if row.get("before") and row.get("after") else None
            yield f"File {row['file']}: {status or ('added' if row.get('after') else 'deleted')}"
            yield from _body({name: item for name, item in row.items() if name != "file"})
        elif row.get("method") == PROMPT and row.get("from") == "client":
            self._turn += 1
            yield from ("", f"### Turn {self._turn}")
            params = row.get("params")
            yield from (f"> {line}" for line in described(params.get("prompt") if isinstance(params, dict) else params))
        else:
            yield from self._message(row)

    def rest(self) -> Iterator[str]:
        """Yields the pieces of text read so far as one text."""
        if self._pieces:
            yield f"{self._speaker}:"
            yield from (f"  {line}" for line in "".join(self._pieces).split("\n"))
            self._pieces.clear()

    def _message(self, row: dict[str, Any]) -> Iterator[str]:
        sender, method = str(row.get("from", "?")).capitalize(), row.get("method")
        key = (str(row.get("from")), str(row.get("id")))
        if method is not None:
            if row.get("id"):
                self._methods[key] = str(method)
            params = row.get("params")
            update = params.get("update") if isinstance(params, dict) else None
            if isinstance(update, dict):
                yield f"{sender}: {update.get('sessionUpdate')}"
                yield from _body({name: item for name, item in update.items() if name != "sessionUpdate"})
            else:
                yield f"{sender}: {method}"
                yield from _body(params)
            return
        other = {"agent": "client", "client": "agent"}.get(str(row.get("from")))
        question = self._methods.get(
            (other or "", str(row.get("id"))), "the prompt" if other == "client" else "a request"
        )
        yield f"{sender} answers {question}{' with an error' if 'error' in row else ''}"
        yield from _body(row.get("error", row.get("result")))


def _spoken(row: dict[str, Any]) -> tuple[str, str] | None:
    """Returns the speaker and the piece of text, or None if *row* is no such piece."""
    match row.get("params"):
        case {"update": {"sessionUpdate": str(kind), "content": {"type": "text", "text": str(text)}}} if (
            kind in _SPEAKERS
        ):
            return _SPEAKERS[kind], text
    return None


def _body(value: Any, indent: str = "  ") -> Iterator[str]:
    """Yields JSON as indented lines; texts of several lines stand below their name."""
    if isinstance(value, dict):
        for name, item in value.items():
            if item != _OWN_ID:
                yield from _field(str(name), item, indent)
    elif isinstance(value, list):
        for item in value:
            yield from _field("-", item, indent)
    elif value is not None:
        yield f"{indent}{value}"


def _field(name: str, item: Any, indent: str) -> Iterator[str]:
    head = name if name == "-" else f"{name}:"
    if isinstance(item, str) and "\n" in item:
        yield f"{indent}{head}"
        yield from (f"{indent}    {line}" for line in item.split("\n"))
    elif isinstance(item, (dict, list)) and item:
        yield f"{indent}{head}"
        yield from _body(item, indent + "  ")
    else:
        yield f"{indent}{head} {item if isinstance(item, str) else json.dumps(item)}"
