"""A conversation that is recorded again: what differs by chance only stays as it is in the cassette.

A second recording must differ where the conversation does, and nowhere else: so an exchange that says the same as the
former one is replaced by that, byte for byte.
"""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.cassette.changed_files import comparable
from agentnb.cassette.compare import ruled
from agentnb.cassette.recording import DEFAULT_RULES, Cassette, RecordedExchange, Section, WireEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")
_ID_FIELD = re.compile(r"(?:^|_)id$|[a-z](?:Id|ID)$")
_ID = re.compile(r"(?=.*\d)[\w.:-]{8,}")
_TIME_FIELD = re.compile(
    r"(?:^|_)(?:at|time|timestamp|date|duration|elapsed|ms)$|[a-z](?:At|Time|Timestamp|Date|Duration|Elapsed|Ms)$"
)
_EPOCHS = ((1_000_000_000, 4_000_000_000), (1_000_000_000_000, 4_000_000_000_000))  # seconds and milliseconds


class FormerExchanges:
    """The exchanges of the cassette that is recorded again."""

    def __init__(self, former: Cassette | None) -> None:
        header = former.header if former is not None else None
        self._sections = _by_place(former.sections if former is not None else [])
        self._ruled = ruled({rule.name: rule for rule in (*DEFAULT_RULES, *(header.rules if header else ()))}.values())
        # Version 0.1 sorted the fields of objects: what it wrote has another order than the agent.
        self._is_sorted = header is not None and header.by == "agentnb"
        self._contents: dict[int, tuple[RecordedExchange, str]] = {}  # by identity, with what keeps that valid

    def in_place(self, cassette: Cassette) -> Cassette:
        """*cassette* with its exchanges replaced by former ones that say the same."""
        if not self._sections:
            return cassette
        sections = [
            msgspec.structs.replace(section, exchanges=self._kept(self._sections.get(place), section))
            for place, section in _by_place(cassette.sections).items()
        ]
        return msgspec.structs.replace(cassette, sections=sections)

    def _kept(self, former: Section | None, section: Section) -> list[RecordedExchange]:
        if former is None:
            return section.exchanges
        before, today = former.exchanges, list(section.exchanges)
        contents = [self._content(exchange) for exchange in before], [self._content(exchange) for exchange in today]
        for same in difflib.SequenceMatcher(None, *contents, autojunk=False).get_matching_blocks():
            today[same.b : same.b + same.size] = before[same.a : same.a + same.size]
        return today

    def _content(self, exchange: RecordedExchange) -> str:
        """Returns what *exchange* says, without what differs by chance."""
        known = self._contents.get(id(exchange))
        if known is not None:
            return known[1]
        merged = [list(_merged(part, self._lasting)) for part in (exchange.before, exchange.after)]
        ended = [exchange.answered, self._lasting(exchange.result), self._lasting(exchange.error)]
        whole = [
            exchange.method,
            self._lasting(exchange.params),
            merged,
            ended,
            comparable(exchange.files, self._ruled),
        ]
        content = json.dumps(whole, ensure_ascii=False, sort_keys=not self._is_sorted)
        if exchange.answered:
            self._contents[id(exchange)] = (exchange, content)
        return content

    def _lasting(self, value: Any) -> Any:
        return _lasting(self._ruled(value))


def _by_place(sections: list[Section]) -> dict[tuple[str, int, int], Section]:
    """The sections by agent, process, and number within the process; 0 is outside of sessions."""
    sections_by_place: dict[tuple[str, int, int], Section] = {}
    counts: dict[tuple[str, int], int] = {}
    for section in sections:
        process = (section.agent, section.launch)
        counts[process] = counts.get(process, 0) + (section.session > 0)
        sections_by_place[section.agent, section.launch, counts[process] if section.session else 0] = section
    return sections_by_place


def _merged(events: list[WireEvent], lasting: Callable[[Any], Any]) -> Iterator[list[Any]]:
    """*events* without their times; the pieces of a text that follow each other are one, questions are counted anew."""
    numbers: dict[int, int] = {}
    texts: list[str] = []
    stream: Any = None
    for event in events:
        piece = _piece(event)
        if texts and (piece is None or piece[0] != stream):
            yield [stream, lasting("".join(texts))]
            texts = []
        if piece is None:
            number = numbers.setdefault(event.id, len(numbers))
            contents = [lasting(value) for value in (event.params, event.result, event.error)]
            yield [event.kind, event.method, number, contents]
        else:
            stream = piece[0]
            texts.append(piece[1])
    if texts:
        yield [stream, lasting("".join(texts))]


def _piece(event: WireEvent) -> tuple[list[Any], str] | None:
    """The stream that *event* is a piece of, and its text."""
    match event.update if event.kind == "said" else None:
        case {"sessionUpdate": str(kind), "content": {"type": "text", "text": str(text)}} if kind in _CHUNKS:
            return [kind, event.update.get("messageId")], text
    return None


def _lasting(value: Any, name: str = "") -> Any:
    """*value* (JSON), the field *name* of an object, without ids and times."""
    if isinstance(value, dict):
        return {key: _lasting(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_lasting(item, name) for item in value]
    if isinstance(value, str):
        return "id" if _ID_FIELD.search(name) and _ID.fullmatch(value) else value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        is_epoch = any(first <= value <= last for first, last in _EPOCHS)
        return "time" if is_epoch or _TIME_FIELD.search(name) else value
    return value
