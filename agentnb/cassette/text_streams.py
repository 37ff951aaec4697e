"""Streams: texts that an agent sends in pieces. A path or a credential can be cut anywhere in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agentnb.cassette.recording import Event, Exchange

    Spans = Callable[[str], list[tuple[int, int, str]]]

_PLACES = (("content", "text"), ("_meta", "terminal_output", "data"))


class Piece(NamedTuple):
    """One piece of a stream: the object that holds its text, in the field *name*."""

    holder: dict[str, Any]
    name: str

    @property
    def text(self) -> str:
        """The text."""
        return str(self.holder[self.name])


def streams(exchanges: Iterable[Exchange]) -> Iterator[tuple[Exchange, list[Piece]]]:
    """Every text that is sent in pieces within one of *exchanges*, by the exchange."""
    for exchange in exchanges:
        found: dict[tuple[Any, ...], list[Piece]] = {}
        for update in (event.update for event in exchange.events if event.kind == "said"):
            for place in _PLACES:
                if (piece := _piece(update, place)) is not None:
                    key = (update.get("sessionUpdate"), update.get("toolCallId"), update.get("messageId"), place)
                    found.setdefault(key, []).append(piece)
        yield from ((exchange, pieces) for pieces in found.values())


def joined_texts(exchanges: Sequence[Exchange]) -> Iterator[tuple[Exchange, str]]:
    """Every text of *exchanges*, streams in one piece, by the exchange that it is in."""
    for exchange, pieces in streams(exchanges):
        yield exchange, "".join(piece.text for piece in pieces)
    for exchange in exchanges:
        messages: list[Event | Exchange] = [exchange, *exchange.events]
        for each in messages:
            for value in (each.params, each.result, each.error):
                yield from ((exchange, text) for text in _texts(value))
        for file in exchange.files:
            texts = [file.path, *(each.text for each in (file.before, file.after) if each is not None)]
            yield from ((exchange, text) for text in texts if text is not None)


def rewrite(pieces: list[Piece], spans: Spans) -> None:
    """Replace what *spans* finds in the joined text of *pieces*, in the piece where it begins."""
    texts = [piece.text for piece in pieces]
    found = spans("".join(texts))
    if not found:
        return
    at = 0
    for piece, text in zip(pieces, texts, strict=True):
        piece.holder[piece.name] = _part(text, at, found)
        at += len(text)


def _part(text: str, offset: int, spans: list[tuple[int, int, str]]) -> str:
    """What is left of *text*, which begins at *offset* of its stream."""
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


def _piece(update: dict[str, Any], place: tuple[str, ...]) -> Piece | None:
    holder: Any = update
    for name in place[:-1]:
        holder = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(holder, dict) and isinstance(holder.get(place[-1]), str):
        return Piece(holder, place[-1])
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
