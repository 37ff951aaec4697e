"""Merging of consecutive text deltas, so that bytes on the wire grow with the text and not with the chunks."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.state import TEXT_DELTAS, Envelope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def merge_envelopes(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Join neighbouring deltas of one part into one envelope that spans ``first..index``.

    Args:
        envelopes: Envelopes of one channel, in order.

    Returns:
        Envelopes with the same effect on any state, deltas joined.
    """
    return [_join(list(group)) for _, group in groupby(_numbered(envelopes), key=lambda pair: pair[0])]


def _numbered(envelopes: Iterable[Envelope]) -> Iterator[tuple[object, Envelope]]:
    for envelope in envelopes:
        action = envelope.action
        if isinstance(action, TEXT_DELTAS) and envelope.origin is None and action.meta is None:
            yield (type(action), action.turn_id, action.part_id, action.time is None), envelope
        else:
            yield envelope.index, envelope


def _join(group: list[tuple[object, Envelope]]) -> Envelope:
    envelopes = [envelope for _, envelope in group]
    if len(envelopes) == 1:
        return envelopes[0]
    first, last = envelopes[0], envelopes[-1]
    deltas = [envelope.action for envelope in envelopes if isinstance(envelope.action, TEXT_DELTAS)]
    text = "".join(delta.content for delta in deltas)
    return Envelope(
        channel=first.channel,
        first=first.first if first.first is not None else first.index,
        index=last.index,
        action=replace(deltas[-1], content=text),
    )
