"""The file: JSON lines, one message of the wire each, grouped by session so that no timing shows in it."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.cassette.blobs import Blobs, folder_of
from agentnb.cassette.secrets import shapes
from agentnb.cassette.streams import joined_texts
from agentnb.cassette.tape import VERSION, Cassette, Event, Exchange, Header, Lane
from agentnb.errors import CassetteBroken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGAIN = "Record it again (AGENTNB_CASSETTE_MODE=record, or pytest --agentnb-record)."
_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>")
_WHOLE = "Take the whole file from version control, or record it again."


def write(path: Path, cassette: Cassette) -> None:
    """Write *cassette* to *path*, whole or not at all.

    Raises:
        CassetteBroken: If a credential is in it, or a rule is no regular expression; then nothing is written.
    """
    check(path, cassette)
    blobs = Blobs(folder_of(path))
    lines = [_line(line) for line in _lines(cassette, blobs)]
    lines.append(_line({"end": {"lines": len(lines) + 1}}))
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
    return _Reader(path, data).cassette()


def read_header(path: Path) -> Header:
    """The first line of the cassette at *path*.

    Raises:
        CassetteBroken: If it cannot be read.
        OSError: If there is no file.
    """
    with path.open("rb") as lines:
        return _Reader(path, lines.readline()).header()


def check(path: Path, cassette: Cassette) -> None:
    """Make sure that nothing in *cassette* looks like a credential.

    Raises:
        CassetteBroken: If something does.
    """
    _rules(path, cassette.header)
    for lane in cassette.lanes:
        for exchange, text in joined_texts(lane):
            if found := shapes(text):
                raise _leak(f"{path}:{exchange.line}" if exchange.line else str(path), found[0][2])


def _leak(place: str, what: str) -> CassetteBroken:
    kind = what[1:-1].removeprefix("secret ")
    hint = "It must not be in version control: make that credential invalid, then record again."
    return CassetteBroken(f"{place}: this looks like a credential ({kind}).", hint=hint)


def _rules(path: Path, header: Header) -> None:
    for rule in header.rules:
        try:
            re.compile(rule.pattern)
        except re.error as error:
            message = f"{path}:1: the pattern of the rule {rule.name!r} is no regular expression: {error}."
            raise CassetteBroken(message, hint="Correct it.") from error


# --- writing ---


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ")) + "\n"


def _lines(cassette: Cassette, blobs: Blobs) -> Iterator[dict[str, Any]]:
    yield msgspec.to_builtins(cassette.header)
    for lane in cassette.lanes:
        head: dict[str, Any] = {"session": lane.session} if lane.session else {}
        yield {**head, "agent": lane.agent, "launch": lane.launch}
        for number, exchange in enumerate(lane.exchanges, 1):
            yield from _exchange(number, exchange, blobs)


def _exchange(number: int, exchange: Exchange, blobs: Blobs) -> Iterator[dict[str, Any]]:
    yield {"from": "client", "id": number, "method": exchange.method, "params": _put(exchange.params, blobs)}
    pace = []
    for event in exchange.before:
        pace.append(event.delay)
        yield _event(event, blobs)
    if exchange.answered:
        pace.append(exchange.delay)
        yield {"from": "agent", "id": number, **_answer(exchange, blobs)}
    for event in exchange.after:
        pace.append(event.delay)
        yield _event(event, blobs)
    if any(pace):
        yield {"pace": pace}


def _event(event: Event, blobs: Blobs) -> dict[str, Any]:
    line: dict[str, Any] = {"from": "agent" if event.kind in ("said", "asked") else "client"}
    if event.kind in ("asked", "answered"):
        line["id"] = event.id
    if event.kind == "answered":
        return {**line, **_answer(event, blobs)}
    return {**line, "method": event.method, "params": _put(event.params, blobs)}


def _answer(of: Event | Exchange, blobs: Blobs) -> dict[str, Any]:
    if of.error is not None:
        return {"error": _put(of.error, blobs)}
    return {"result": _put(of.result, blobs)}


def _put(value: Any, blobs: Blobs) -> Any:
    return blobs.put(_sorted(value))


def _sorted(value: Any) -> Any:
    """*value* with the fields of every object by name: some agents send them in another order each time."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


# --- reading ---


class _Reader:
    """Reads one file, line by line, so that what is wrong can be pointed at."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path = path
        self._data = data
        self._number = 0
        self._blobs = Blobs(folder_of(path))
        self._lanes: list[Lane] = []

    def cassette(self) -> Cassette:
        if not self._data.strip():
            raise self._broken("the cassette is empty.", AGAIN)
        rows = self._rows()
        header = self._header(next(rows, None))
        for row in rows:
            self._take(row)
        cassette = Cassette(header=header, lanes=self._lanes)
        _rules(self._path, header)
        check(self._path, cassette)
        return cassette

    def header(self) -> Header:
        """The header alone."""
        self._number = 1
        return self._header(self._decoded(self._data, last=True))

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Every line but the last as an object; the last must be the end."""
        raw = self._data.split(b"\n")
        lines = raw[:-1] if not raw[-1].strip() else raw
        ended = False
        for number, line in enumerate(lines, 1):
            self._number = number
            row = self._decoded(line, last=number == len(lines))
            if ended:
                raise self._broken("something stands behind the end of the cassette.", _WHOLE)
            if "end" in row:
                ended = True
                self._ends_right(row["end"], number)
            else:
                yield row
        if not ended:
            raise self._broken("the cassette stops before its end: it was cut.", _WHOLE)

    def _decoded(self, line: bytes, *, last: bool) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if line[:7].decode("utf-8", "replace") in _CONFLICT:
                raise self._broken(
                    "a merge conflict is left in the cassette.", "Resolve it, or record again."
                ) from None
            if last:
                raise self._broken("the line is cut in the middle.", _WHOLE) from error
            raise self._broken("this is no line of a cassette: no JSON.", _WHOLE) from error
        if not isinstance(row, dict):
            raise self._broken("this is no line of a cassette: no JSON object.", _WHOLE)
        if found := shapes(line.decode("utf-8", "replace")):
            raise _leak(f"{self._path}:{self._number}", found[0][2])
        return row

    def _ends_right(self, end: Any, number: int) -> None:
        if not isinstance(end, dict) or end.get("lines") != number:
            raise self._broken("lines are missing from the cassette, or were added to it.", _WHOLE)

    def _header(self, row: dict[str, Any] | None) -> Header:
        if row is None:
            raise self._broken("the cassette is empty.", AGAIN)
        version = row.get("cassette")
        if version is None:
            raise self._broken("this is no cassette: it does not begin with its version.", "Check the path.")
        if version != VERSION:
            newer = isinstance(version, int) and version > VERSION
            hint = "Update agentnb: `pip install --upgrade agentnb`." if newer else AGAIN
            raise self._broken(f"the cassette has version {version!r}; this agentnb reads version {VERSION}.", hint)
        try:
            return msgspec.convert(row, Header)
        except msgspec.ValidationError as error:
            raise self._broken(f"the header cannot be read: {error}.", "Correct it, or record again.") from error

    def _take(self, row: dict[str, Any]) -> None:
        if "agent" in row:
            self._lanes.append(self._lane(row))
            return
        if not self._lanes:
            raise self._broken("a message stands before any agent or session.", _WHOLE)
        lane = self._lanes[-1]
        if "pace" in row:
            self._pace(lane, row["pace"])
        elif row.get("from") == "client" and "method" in row and "id" in row:
            params = self._get(row.get("params"))
            lane.exchanges.append(Exchange(method=str(row["method"]), params=params, line=self._number))
        else:
            self._event(lane, row)

    def _lane(self, row: dict[str, Any]) -> Lane:
        agent, launch, session = row.get("agent"), row.get("launch", 1), row.get("session", 0)
        if not isinstance(agent, str) or not isinstance(launch, int) or not isinstance(session, int):
            raise self._broken("this does not say which agent or session begins here.", _WHOLE)
        return Lane(agent=agent, launch=launch, session=session, line=self._number)

    def _event(self, lane: Lane, row: dict[str, Any]) -> None:
        if not lane.exchanges:
            raise self._broken("a message stands before the client's first request.", _WHOLE)
        exchange = lane.exchanges[-1]
        sender, number = row.get("from"), row.get("id", 0)
        if sender not in ("agent", "client") or not isinstance(number, int):
            raise self._broken("this is no message of the agent or of the client.", _WHOLE)
        method = row.get("method")
        answers = method is None and ("result" in row or "error" in row)
        if answers and sender == "agent":
            exchange.answered, exchange.result = True, self._get(row.get("result"))
            exchange.error = self._get(row.get("error"))
            return
        if not answers and not isinstance(method, str):
            raise self._broken("this message has neither a method nor a result.", _WHOLE)
        asked = "asked" if sender == "agent" and number else None
        kind: Any = "answered" if answers else asked or ("said" if sender == "agent" else "told")
        event = Event(
            kind=kind,
            method=method or "",
            params=self._get(row.get("params")),
            id=number,
            result=self._get(row.get("result")),
            error=self._get(row.get("error")),
        )
        (exchange.after if exchange.answered else exchange.before).append(event)

    def _pace(self, lane: Lane, pace: Any) -> None:
        exchange = lane.exchanges[-1] if lane.exchanges else None
        if exchange is None or not isinstance(pace, list) or not all(isinstance(delay, int) for delay in pace):
            raise self._broken("this pace belongs to no exchange.", _WHOLE)
        steps: list[Event | Exchange] = [*exchange.before, *([exchange] if exchange.answered else []), *exchange.after]
        for step, delay in zip(steps, pace, strict=False):
            step.delay = delay

    def _get(self, value: Any) -> Any:
        try:
            return self._blobs.get(value)
        except CassetteBroken as error:
            raise self._broken(error.message, error.hint or _WHOLE) from error

    def _broken(self, what: str, hint: str) -> CassetteBroken:
        return CassetteBroken(f"{self._path}:{max(self._number, 1)}: {what}", hint=hint)
