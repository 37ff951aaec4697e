"""Reads the state of a channel back: its snapshot, and the entries that came after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import LogDamaged, LogUnavailable, ProtocolError
from agentnb.log.writer import sound
from agentnb.state import Envelope, decode

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

_ENTRIES = "SELECT at, first, envelope, checksum FROM entries WHERE channel = ? AND at > ? ORDER BY at"


def replay(
    connection: sqlite3.Connection, channel: str, kind: type[Any], reduce: Callable[[Any, Any], Any]
) -> tuple[Any, int, str | None]:
    """A channel's state, its index, and what is missing of it, if anything is.

    Raises:
        LogDamaged: If its snapshot is missing or damaged.
        LogUnavailable: If a newer agentnb wrote it.
    """
    row = connection.execute("SELECT at, state, checksum FROM snapshots WHERE channel = ?", (channel,)).fetchone()
    if row is None or not sound(row[1], row[2]):
        message = f"The session {channel.removesuffix('/chat')} cannot be read: its snapshot is missing or damaged."
        raise LogDamaged(message, hint="agentnb.sessions() lists the others.")
    index, state = row[0], _decoded(kind, row[1], channel)
    for at, first, data, written in connection.execute(_ENTRIES, (channel, index)):
        if first != index + 1 or not sound(data, written):
            return state, index, f"What came after entry {index} of {channel} is damaged in the log."
        state, index = reduce(state, _decoded(Envelope, data, channel).action), at
    return state, index, None


def _decoded(kind: type[Any], data: bytes, channel: str) -> Any:
    try:
        return decode(kind, data)
    except ProtocolError as error:
        message = f"The session {channel.removesuffix('/chat')} cannot be read: {error.message}"
        raise LogUnavailable(message, hint="It may have been written by a newer agentnb; update.") from error
