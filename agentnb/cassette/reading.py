"""The lines of a file as a recording; what is wrong with them is told with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.cassette.blobs import Blobs, folder_of
from agentnb.cassette.secrets import shapes
from agentnb.cassette.tape import VERSION, Cassette, Event, Exchange, Header, Lane
from agentnb.errors import CassetteBroken
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AGAIN = "Record it again (AGENTNB_CASSETTE_MODE=record, or pytest --agentnb-record)."
_CONFLICT = ("<<<<<<<", "=======", ">>>>>>>")
_WHOLE = "Take the whole file from version control, or record it again."


def leak(place: str, what: str) -> CassetteBroken:
    """The error that something at *place* looks like a credential; *what* is its mark."""
    kind = what[1:-1].removeprefix("secret ")
    hint = "It must not be in version control: make that credential invalid, then record again."
    return CassetteBroken(f"{place}: this looks like a credential ({kind}).", hint=hint)


class Reader:
    """Reads one file, line by line, so that what is wrong can be pointed at.

    Args:
        path: The file.
        data: What is in it.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self._path = path
        self._data = data
        self._number = 0
        self._blobs = Blobs(folder_of(path))
        self._lanes: list[Lane] = []

    def cassette(self) -> Cassette:
        """All of it.

        Raises:
            CassetteBroken: If it cannot be used.
        """
        if not self._data.strip():
            raise self._broken("the cassette is empty.", AGAIN)
        rows = self._rows()
        header = self._header(next(rows, None))
        for row in rows:
            self._take(row)
        return Cassette(header=header, lanes=self._lanes)

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
            row = read_json(line)
        except ValueError as error:
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
            raise leak(f"{self._path}:{self._number}", found[0][2])
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
            hint = "Update agentnb: `pip install --upgrade jupyter-agentnb`." if newer else AGAIN
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
        description = row.get("description")
        if description is not None and not isinstance(description, dict):
            raise self._broken("the agent's description is no object.", _WHOLE)
        return Lane(agent=agent, launch=launch, session=session, description=description, line=self._number)

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
