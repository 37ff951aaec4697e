"""The short form of a flush that does nothing but continue a text: without the names that the page knows already."""

from __future__ import annotations

from typing import Any

LONGEST = 2_048  # characters of a text that go in one such flush; a longer one is whole, and waited for
DELTAS = frozenset({"chat/delta", "chat/reasoning"})
ENVELOPE = frozenset({"channel", "first", "index", "action"})
ACTION = frozenset({"type", "turnId", "partId", "content", "time"})

Key = tuple[str, str, str, str]


class ContinuedText:
    """The text that the flushes to one client continue, and the flush since which the client knows its names."""

    def __init__(self) -> None:
        self._flush = 0
        self._key: Key | None = None

    def forget(self) -> None:
        """The client may not know it: the next flush is a whole one."""
        self._key = None

    def shorten(self, flush: dict[str, Any]) -> list[Any] | None:
        """The parameters of ``text`` that say the same as *flush*; None where there are none, and it goes as it is."""
        envelopes = flush["envelopes"]
        key = _key_of(envelopes[-1]) if envelopes else None
        if key is None:
            return None
        envelope = envelopes[0]
        is_alone = len(envelopes) == 1 and "snapshots" not in flush
        if key != self._key or not is_alone or len(envelope["action"]["content"]) > LONGEST:
            self._flush, self._key = flush["flush"], key
            return None
        action, index = envelope["action"], envelope["index"]
        short_form = [flush["flush"], self._flush, envelope.get("first", index), index, action["content"]]
        return [*short_form, action["time"]] if "time" in action else short_form


def _key_of(envelope: dict[str, Any]) -> Key | None:
    """Returns what a delta continues.

    None for any other envelope, and for one with fields that the short form has not.
    """
    action = envelope["action"]
    if action.get("type") not in DELTAS or not (envelope.keys() <= ENVELOPE and action.keys() <= ACTION):
        return None
    return envelope["channel"], action["type"], action["turnId"], action["partId"]
