"""The file: JSON lines, one message of the wire each, grouped by session so that timing does not change it."""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb import distribution
from agentnb.cassette.changed_files import check_file
from agentnb.cassette.large_content import LargeContent, folder_of
from agentnb.cassette.marks import shapes
from agentnb.cassette.recording import (
    PROMPT,
    VERSION,
    Cassette,
    Header,
    RecordedExchange,
    RecordedFile,
    Section,
    WireEvent,
)
from agentnb.cassette.session_cleaning import joined_texts
from agentnb.errors import AgentnbError, CassetteBroken
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def write(path: Path, cassette: Cassette, *, checked: Iterable[RecordedExchange] = ()) -> None:
    """Write *cassette* to *path* atomically."""
    check(path, cassette, checked)
    large = LargeContent(folder_of(path))
    lines = [encode_row(row) for row in rows_of(cassette, large)]
    lines.append(encode_row({"end": {"lines": len(lines) + 1}}))
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    draft.write_text("".join(lines), encoding="utf-8", newline="\n")
    large.write()
    draft.replace(path)


def read(path: Path) -> Cassette:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CassetteBroken(f"{path}: there is no cassette: {error.strerror}.", hint=AGAIN) from error
    cassette = Reader(path, data).cassette()
    check(path, cassette)
    return cassette


def read_header(path: Path) -> Header:
    with path.open("rb") as lines:
        return Reader(path, lines.readline()).header()


def read_agents(path: Path) -> dict[str, dict[str, Any] | None]:
    """Returns the agents in the cassette at *path*, by name, each with its description if there is one."""
    agents: dict[str, dict[str, Any] | None] = {}
    with contextlib.suppress(OSError), path.open("rb") as lines:
        for line in lines:
            row = row_of(line) if line.startswith((b'{"agent"', b'{"session"')) else None
            if row is not None and isinstance(name := row.get("agent"), str):
                about = row.get("description")
                agents[name] = agents.get(name) or (about if isinstance(about, dict) else None)
    return agents


def row_of(line: bytes) -> dict[str, Any] | None:
    """Returns one line of a cassette; None if it is not a JSON object."""
    try:
        row = read_json(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def check(path: Path, cassette: Cassette, checked: Iterable[RecordedExchange] = ()) -> None:
    """Raise if anything in *cassette* looks like a credential, or one of its rules is not a pattern."""
    for rule in cassette.header.rules:
        try:
            re.compile(rule.pattern)
        except re.error as error:
            message = f"{path}:1: the pattern of the rule {rule.name!r} is not a regular expression: {error}."
            raise CassetteBroken(message, hint="Fix it.") from error
    known = {id(exchange) for exchange in checked}
    for section in cassette.sections:
        fresh = [exchange for exchange in section.exchanges if id(exchange) not in known]
        for exchange, text in joined_texts(fresh):
            if secrets := shapes(text):
                raise leak(f"{path}:{exchange.line}" if exchange.line else str(path), secrets[0][2])


AGAIN = "Record it again (AGENTNB_CASSETTE_MODE=record, or pytest --agentnb-record)."
_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>")
_WHOLE = "Restore the whole file from version control, or record it again."


def leak(place: str, what: str) -> CassetteBroken:
    """Returns the error for something at *place* that looks like a credential; *what* is its mark."""
    kind = what[1:-1].removeprefix("secret ")
    hint = "It must not be in version control. Revoke that credential, then record again."
    return CassetteBroken(f"{place}: this looks like a credential ({kind}).", hint=hint)


class Reader:
    """Reads one file, line by line, so that an error can point to its line."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path = path
        self._data = data
        self._number = 0
        self._large = LargeContent(folder_of(path))
        self._sections: list[Section] = []

    def cassette(self) -> Cassette:
        if not self._data.strip():
            raise self._broken("the cassette is empty.", AGAIN)
        rows = self._rows()
        header = self._header(next(rows, None))
        for row in rows:
            self._take(row)
        return Cassette(header=header, sections=self._sections)

    def header(self) -> Header:
        self._number = 1
        return self._header(self._decoded(self._data, last=True))

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yields every line but the last as an object; the last must be the end."""
        raw = self._data.split(b"\n")
        lines = raw[:-1] if not raw[-1].strip() else raw
        ended = False
        for number, line in enumerate(lines, 1):
            self._number = number
            row = self._decoded(line, last=number == len(lines))
            if ended:
                raise self._broken("there is text after the end of the cassette.", _WHOLE)
            if "end" in row:
                ended = True
                if not isinstance(row["end"], dict) or row["end"].get("lines") != number:
                    raise self._broken("lines are missing from the cassette, or were added to it.", _WHOLE)
            else:
                yield row
        if not ended:
            raise self._broken("the cassette is truncated.", _WHOLE)

    def _decoded(self, line: bytes, *, last: bool) -> dict[str, Any]:
        try:
            row = read_json(line)
        except ValueError as error:
            if line[:7].decode("utf-8", "replace") in _CONFLICT:
                raise self._broken(
                    "a merge conflict is left in the cassette.", "Resolve it, or record again."
                ) from None
            if last:
                raise self._broken("the line is truncated.", _WHOLE) from error
            raise self._broken("this is not a line of a cassette: it is not JSON.", _WHOLE) from error
        if not isinstance(row, dict):
            raise self._broken("this is not a line of a cassette: it is not a JSON object.", _WHOLE)
        if secrets := shapes(line.decode("utf-8", "replace")):
            raise leak(f"{self._path}:{self._number}", secrets[0][2])
        return row

    def _header(self, row: dict[str, Any] | None) -> Header:
        if row is None:
            raise self._broken("the cassette is empty.", AGAIN)
        version = row.get("cassette")
        if version is None:
            raise self._broken("this is not a cassette: it does not begin with its version.", "Check the path.")
        oldest = row.get(distribution.OLDEST)
        if (isinstance(version, int) and version > VERSION) or distribution.is_too_new(oldest):
            what = f"the cassette, of version {version}, is too new. {distribution.readers(oldest)}"
            raise self._broken(what, distribution.UPDATE)
        if version != VERSION:
            raise self._broken(f"the cassette has version {version!r}; this agentnb reads version {VERSION}.", AGAIN)
        try:
            return msgspec.convert(row, Header)
        except msgspec.ValidationError as error:
            raise self._broken(f"the header cannot be read: {error}.", "Fix it, or record it again.") from error

    def _take(self, row: dict[str, Any]) -> None:
        if "agent" in row:
            self._sections.append(self._section(row))
            return
        if not self._sections:
            raise self._broken("a message comes before any agent or session.", _WHOLE)
        section = self._sections[-1]
        if "pace" in row:
            self._pace(section, row["pace"])
        elif "file" in row:
            self._file(section, row)
        elif row.get("from") == "client" and "method" in row and "id" in row:
            params = self._get(row.get("params"))
            section.exchanges.append(RecordedExchange(method=str(row["method"]), params=params, line=self._number))
        else:
            self._event(section, row)

    def _section(self, row: dict[str, Any]) -> Section:
        agent, launch, session = row.get("agent"), row.get("launch", 1), row.get("session", 0)
        if not isinstance(agent, str) or not isinstance(launch, int) or not isinstance(session, int):
            raise self._broken("this does not say which agent or session starts here.", _WHOLE)
        description = row.get("description")
        if description is not None and not isinstance(description, dict):
            raise self._broken("the agent's description is not an object.", _WHOLE)
        return Section(agent=agent, launch=launch, session=session, description=description)

    def _event(self, section: Section, row: dict[str, Any]) -> None:
        if not section.exchanges:
            raise self._broken("a message comes before the client's first request.", _WHOLE)
        exchange = section.exchanges[-1]
        sender, number = row.get("from"), row.get("id", 0)
        if sender not in ("agent", "client") or not isinstance(number, int):
            raise self._broken("this is not a message of the agent or of the client.", _WHOLE)
        method = row.get("method")
        answers = method is None and ("result" in row or "error" in row)
        if answers and sender == "agent":
            exchange.answered, exchange.result = True, self._get(row.get("result"))
            exchange.error = self._get(row.get("error"))
            return
        if not answers and not isinstance(method, str):
            raise self._broken("this message has neither a method nor a result.", _WHOLE)
        spoken = "told" if sender == "client" else "asked" if number else "said"
        kind: Any = "answered" if answers else spoken
        event = WireEvent(
            kind=kind,
            method=method or "",
            params=self._get(row.get("params")),
            id=number,
            result=self._get(row.get("result")),
            error=self._get(row.get("error")),
        )
        (exchange.after if exchange.answered else exchange.before).append(event)

    def _file(self, section: Section, row: dict[str, Any]) -> None:
        exchange = section.exchanges[-1] if section.exchanges else None
        if exchange is None or exchange.method != PROMPT:
            raise self._broken("this file belongs to no turn.", _WHOLE)
        try:
            recorded = msgspec.convert(self._get(row), RecordedFile)
            check_file(recorded)
        except msgspec.ValidationError as error:
            raise self._broken(f"the file cannot be read: {error}.", _WHOLE) from error
        except CassetteBroken:
            raise
        except AgentnbError as error:
            raise self._broken(error.message, "Do not use this cassette unless you know who made it.") from error
        exchange.files.append(recorded)

    def _pace(self, section: Section, pace: Any) -> None:
        exchange = section.exchanges[-1] if section.exchanges else None
        if exchange is None or not isinstance(pace, list) or not all(isinstance(delay, int) for delay in pace):
            raise self._broken("this pace belongs to no exchange.", _WHOLE)
        answer = [exchange] if exchange.answered else []
        steps: list[WireEvent | RecordedExchange] = [*exchange.before, *answer, *exchange.after]
        for step, delay in zip(steps, pace, strict=False):
            step.delay = delay

    def _get(self, value: Any) -> Any:
        try:
            return self._large.get(value)
        except CassetteBroken as error:
            raise self._broken(error.message, error.hint or _WHOLE) from error

    def _broken(self, what: str, hint: str) -> CassetteBroken:
        return CassetteBroken(f"{self._path}:{max(self._number, 1)}: {what}", hint=hint)


def encode_row(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")) + "\n"


def rows_of(cassette: Cassette, large: LargeContent) -> Iterator[dict[str, Any]]:
    """Yields every line but the end, as JSON; large content goes to *large*."""
    yield msgspec.to_builtins(cassette.header)
    for section in cassette.sections:
        head: dict[str, Any] = {"session": section.session} if section.session else {}
        about = {"description": section.description} if section.description is not None else {}
        yield {**head, "agent": section.agent, "launch": section.launch, **about}
        for number, exchange in enumerate(section.exchanges, 1):
            yield from _exchange(number, exchange, large)


def _exchange(number: int, exchange: RecordedExchange, large: LargeContent) -> Iterator[dict[str, Any]]:
    yield {"from": "client", "id": number, "method": exchange.method, "params": large.put(exchange.params)}
    pace = []
    for event in exchange.before:
        pace.append(event.delay)
        yield _event(event, large)
    if exchange.answered:
        pace.append(exchange.delay)
        yield {"from": "agent", "id": number, **_answer(exchange, large)}
    for event in exchange.after:
        pace.append(event.delay)
        yield _event(event, large)
    for file in exchange.files:
        yield large.put(msgspec.to_builtins(file))
    if pace:
        yield {"pace": pace}


def _event(event: WireEvent, large: LargeContent) -> dict[str, Any]:
    row: dict[str, Any] = {"from": "agent" if event.kind in ("said", "asked") else "client"}
    if event.kind in ("asked", "answered"):
        row["id"] = event.id
    if event.kind == "answered":
        return {**row, **_answer(event, large)}
    return {**row, "method": event.method, "params": large.put(event.params)}


def _answer(of: WireEvent | RecordedExchange, large: LargeContent) -> dict[str, Any]:
    if of.error is not None:
        return {"error": large.put(of.error)}
    return {"result": large.put(of.result)}
