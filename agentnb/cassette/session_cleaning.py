"""One session as a cassette stores it: marks for what differs from run to run, no secrets, counted ids."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import replace

from agentnb.cassette.changed_files import cleaned_files
from agentnb.cassette.marks import SessionMarks, each_text, escaped
from agentnb.cassette.recording import RecordedExchange, Section, WireEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agentnb.cassette.marks import Secrets
    from agentnb.cassette.recording import RecordedFile
    from agentnb.cassette.wire_tap import RawSection

    Spans = Callable[[str], list[tuple[int, int, str]]]

_IDS = {"toolCallId": "call", "messageId": "message", "planId": "plan", "elicitationId": "elicitation"}
_LONG_ID = 6

RecordedMessage = TypeVar("RecordedMessage", WireEvent, RecordedExchange)


class SessionCleaner:
    def __init__(self, raw: RawSection, home: str | None) -> None:
        self._raw = raw
        self._home = home
        self._known: tuple[Any, ...] = ()
        self._marks = SessionMarks(None)
        self._ids = _Ids()
        self._past: list[RecordedExchange] = []
        self._files: dict[int, tuple[list[RecordedFile], list[RecordedFile]]] = {}
        self._sizes: list[tuple[int, int, int]] = []

    def section(self, session: int, cwd: str | None, secrets: Secrets) -> Section:
        raw, known = self._raw, (secrets, cwd, self._raw.session_id)
        recorded = raw.section.exchanges
        if known != self._known or self._sizes != [_size(exchange) for exchange in recorded[: len(self._sizes)]]:
            # Start from scratch: values that became known now may occur in earlier messages.
            self._known = known
            self._marks = SessionMarks(cwd, secrets=secrets, home=self._home, session_id=raw.session_id)
            self._ids, self._past, self._sizes, self._files = _Ids(), [], [], {}
        for name in raw.terminals:
            self._marks.terminal(name)
        self._marks.tools.servers, self._marks.tools.connections = raw.servers, raw.connections
        ended = self._ended()
        self._past += self._kept(recorded[len(self._past) : ended], self._ids)
        self._sizes = [_size(exchange) for exchange in recorded[:ended]]
        exchanges = [*self._past, *self._kept(recorded[ended:], deepcopy(self._ids))]
        about = self._marks.clean(raw.section.description)
        return replace(raw.section, session=session, exchanges=exchanges, description=about)

    def _ended(self) -> int:
        """Returns how many exchanges at the start are complete: answered, and followed by another."""
        number = len(self._past)
        for exchange in self._raw.section.exchanges[number:-1]:
            if not exchange.answered or exchange is self._raw.prompt:
                break
            number += 1
        return number

    def _kept(self, exchanges: list[RecordedExchange], ids: _Ids) -> list[RecordedExchange]:
        part = [_each(exchange, lambda value: each_text(value, escaped)) for exchange in exchanges]
        for _, pieces in streams(part):
            rewrite(pieces, self._marks.spans)
        kept = [_each(exchange, lambda value: ids.counted(self._marks.kept(value))) for exchange in part]
        for exchange, raw in zip(kept, exchanges, strict=True):
            exchange.files = self._kept_files(raw)
        return kept

    def _kept_files(self, raw: RecordedExchange) -> list[RecordedFile]:
        """Returns the files of *raw*, cleaned once: a cassette is written several times before its last turn ends."""
        known = self._files.get(id(raw))
        if known is None or known[0] is not raw.files:
            known = self._files[id(raw)] = (raw.files, cleaned_files(raw, self._marks))
        return known[1]


def _size(exchange: RecordedExchange) -> tuple[int, int, int]:
    return len(exchange.before), len(exchange.after), len(exchange.files)


def _each(exchange: RecordedExchange, change: Callable[[Any], Any]) -> RecordedExchange:
    def changed(old: RecordedMessage) -> RecordedMessage:
        return replace(old, params=change(old.params), result=change(old.result), error=change(old.error))

    before, after = map(changed, exchange.before), map(changed, exchange.after)
    return replace(changed(exchange), before=[*before], after=[*after], files=[])


class _Ids:
    """Numbers the agent's ids of tool calls, messages and plans in the order in which they come."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def counted(self, value: Any) -> Any:
        """Returns *value* (JSON) with its ids replaced by numbers."""
        self._learn(value)
        return self._renamed(value)

    def _learn(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._learn(item)
        elif isinstance(value, dict):
            for name, item in value.items():
                if name in _IDS and isinstance(item, str):
                    self._number(_IDS[name], item)
                else:
                    self._learn(item)

    def _number(self, kind: str, name: str) -> None:
        if name not in self._names:
            self._counts[kind] = number = self._counts.get(kind, 0) + 1
            self._names[name] = f"{kind}-{number}"

    def _renamed(self, value: Any, *, is_id: bool = False) -> Any:
        if isinstance(value, str):
            return self._names.get(value, value) if is_id or len(value) >= _LONG_ID else value
        if isinstance(value, list):
            return [self._renamed(item) for item in value]
        if isinstance(value, dict):
            return {name: self._renamed(item, is_id=name in _IDS) for name, item in value.items()}
        return value


# --- texts that come in pieces ---

_PLACES = (("content", "text"), ("_meta", "terminal_output", "data"))


class StreamPiece(NamedTuple):
    """One piece of a stream: the object that holds its text, in the field *name*."""

    holder: dict[str, Any]
    name: str

    @property
    def text(self) -> str:
        return str(self.holder[self.name])


def streams(exchanges: Iterable[RecordedExchange]) -> Iterator[tuple[RecordedExchange, list[StreamPiece]]]:
    """Yields every text that is sent in pieces within one of *exchanges*, with the exchange."""
    for exchange in exchanges:
        recorded_streams: dict[tuple[Any, ...], list[StreamPiece]] = {}
        for update in (event.update for event in exchange.events if event.kind == "said"):
            for place in _PLACES:
                if (piece := _piece(update, place)) is not None:
                    key = (update.get("sessionUpdate"), update.get("toolCallId"), update.get("messageId"), place)
                    recorded_streams.setdefault(key, []).append(piece)
        yield from ((exchange, pieces) for pieces in recorded_streams.values())


def joined_texts(exchanges: Sequence[RecordedExchange]) -> Iterator[tuple[RecordedExchange, str]]:
    """Yields every text of *exchanges*, with streams joined, together with its exchange."""
    for exchange, pieces in streams(exchanges):
        yield exchange, "".join(piece.text for piece in pieces)
    for exchange in exchanges:
        messages: list[WireEvent | RecordedExchange] = [exchange, *exchange.events]
        for each in messages:
            for value in (each.params, each.result, each.error):
                yield from ((exchange, text) for text in _texts(value))
        for file in exchange.files:
            texts = [file.path, *(each.text for each in (file.before, file.after) if each is not None)]
            yield from ((exchange, text) for text in texts if text is not None)


def rewrite(pieces: list[StreamPiece], spans: Spans) -> None:
    """Replace what *spans* finds in the joined text of *pieces*, in the piece where it begins."""
    texts = [piece.text for piece in pieces]
    secrets = spans("".join(texts))
    if not secrets:
        return
    at = 0
    for piece, text in zip(pieces, texts, strict=True):
        piece.holder[piece.name] = _part(text, at, secrets)
        at += len(text)


def _part(text: str, offset: int, spans: list[tuple[int, int, str]]) -> str:
    """Returns *text*, which begins at *offset* of its stream, with *spans* replaced in it."""
    out, at = [], 0
    for start, end, word in spans:
        first, last = start - offset, end - offset
        if last <= 0 or first >= len(text):
            continue
        out.append(text[at : max(first, 0)])
        if first >= 0:
            out.append(word)
        at = min(last, len(text))
    return "".join([*out, text[at:]])


def _piece(update: dict[str, Any], place: tuple[str, ...]) -> StreamPiece | None:
    holder: Any = update
    for name in place[:-1]:
        holder = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(holder, dict) and isinstance(holder.get(place[-1]), str):
        return StreamPiece(holder, place[-1])
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
