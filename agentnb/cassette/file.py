"""The file: JSON lines, one message of the wire each, grouped by session so that no timing shows in it."""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING, Any

from agentnb.cassette import writing
from agentnb.cassette.blobs import Blobs, folder_of
from agentnb.cassette.reading import AGAIN, Reader, leak
from agentnb.cassette.secrets import shapes
from agentnb.cassette.streams import joined_texts
from agentnb.errors import CassetteBroken

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentnb.cassette.tape import Cassette, Exchange, Header


def write(path: Path, cassette: Cassette, *, checked: Iterable[Exchange] = ()) -> None:
    """Write *cassette* to *path*, whole or not at all.

    Args:
        path: Where.
        cassette: What.
        checked: Exchanges of it in which no credential was found before; they are not looked through again.

    Raises:
        CassetteBroken: If a credential is in it, or a rule is no regular expression; then nothing is written.
    """
    check(path, cassette, checked)
    blobs = Blobs(folder_of(path))
    lines = [writing.line(row) for row in writing.rows(cassette, blobs)]
    lines.append(writing.line({"end": {"lines": len(lines) + 1}}))
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    draft.write_text("".join(lines), encoding="utf-8", newline="\n")
    blobs.write()
    draft.replace(path)


def read(path: Path) -> Cassette:
    """Read the cassette at *path*.

    Raises:
        CassetteBroken: If there is none, or it cannot be used; the message names file and line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CassetteBroken(f"{path}: there is no cassette: {error.strerror}.", hint=AGAIN) from error
    cassette = Reader(path, data).cassette()
    check(path, cassette)
    return cassette


def read_header(path: Path) -> Header:
    """The first line of the cassette at *path*.

    Raises:
        CassetteBroken: If it cannot be read.
        OSError: If there is no file.
    """
    with path.open("rb") as lines:
        return Reader(path, lines.readline()).header()


def read_agents(path: Path) -> dict[str, dict[str, Any] | None]:
    """The agents in the cassette at *path*, by name, each with its description if there is one.

    Only the lines that name agents are read: a cassette that is broken elsewhere is told of by whoever plays it.
    """
    found: dict[str, dict[str, Any] | None] = {}
    with contextlib.suppress(OSError), path.open("rb") as lines:
        for line in lines:
            row = _object(line) if line.startswith((b'{"agent"', b'{"session"')) else {}
            if isinstance(name := row.get("agent"), str):
                about = row.get("description")
                found[name] = found.get(name) or (about if isinstance(about, dict) else None)
    return found


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def check(path: Path, cassette: Cassette, checked: Iterable[Exchange] = ()) -> None:
    """Make sure that nothing in *cassette* looks like a credential.

    Raises:
        CassetteBroken: If something does.
    """
    _rules(path, cassette.header)
    known = {id(exchange) for exchange in checked}
    for lane in cassette.lanes:
        fresh = [exchange for exchange in lane.exchanges if id(exchange) not in known]
        for exchange, text in joined_texts(fresh):
            if found := shapes(text):
                raise leak(f"{path}:{exchange.line}" if exchange.line else str(path), found[0][2])


def _rules(path: Path, header: Header) -> None:
    for rule in header.rules:
        try:
            re.compile(rule.pattern)
        except re.error as error:
            message = f"{path}:1: the pattern of the rule {rule.name!r} is no regular expression: {error}."
            raise CassetteBroken(message, hint="Correct it.") from error
