"""Envelopes: an accepted action with its place in a channel."""

from __future__ import annotations

from agentnb.state.action import Action
from agentnb.state.wire import Index, Wire


class ActionOrigin(Wire, frozen=True, kw_only=True):
    """The client that asked for an action (AHP ``ActionOrigin``).

    Args:
        client_id: The client.
        client_seq: Its own count of what it has dispatched.
    """

    client_id: str
    client_seq: int


class Envelope(Wire, frozen=True, kw_only=True):
    """An action in its place (AHP ``ActionEnvelope``; ours counts per channel).

    Args:
        channel: The channel's URI.
        first: The index of the first of several text deltas that were merged into this one.
        index: The index, 1, 2, 3 … without holes.
        action: What happened.
        origin: The client that asked for it.
        rejection_reason: Why it was *not* applied; sent only to the client that asked.
        repeated: The action had been accepted before and came once more: nothing is refused, it is only settled.

    Example:
        >>> from agentnb.state import SessionReady
        >>> Envelope(channel="eliza:/1", index=1, action=SessionReady()).first is None
        True
    """

    channel: str
    first: Index | None = None
    index: Index
    action: Action
    origin: ActionOrigin | None = None
    rejection_reason: str | None = None
    repeated: bool | None = None
