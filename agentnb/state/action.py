"""Actions and their envelopes."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from agentnb.state.wire import Index, JsonObject, Time, Wire

ChannelKind: TypeAlias = Literal["root", "session", "chat", "terminal", "changeset"]


class Action:
    """Something that happened, or that a client asks for (AHP ``StateAction``).

    Reducers never read a clock: an action that marks a channel as modified carries the time itself.

    Attributes:
        time: Milliseconds since 1970, or ``None``: ``modifiedAt`` then stays as it is.
        meta: Additional data (``_meta``).
        channel_kind: The channel whose state it changes; None if that is not known.
    """

    __slots__ = ()

    channel_kind: ClassVar[ChannelKind | None] = None
    time: Time | None
    meta: JsonObject | None


class UnknownAction(Action):
    """An action of a type that this version does not know. It changes nothing and is kept as received.

    Args:
        raw: The action as received.
    """

    __slots__ = ("meta", "raw", "time")

    def __init__(self, raw: JsonObject) -> None:
        self.raw: JsonObject = raw
        self.time: None = None
        self.meta: None = None

    @property
    def type(self) -> str:
        return str(self.raw.get("type"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownAction) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.type)

    def __repr__(self) -> str:
        return f"UnknownAction({self.raw!r})"


class KnownAction(Wire, Action, frozen=True, kw_only=True, tag_field="type"):
    """Base of the actions that this version knows; each carries its ``type`` on the wire.

    Attributes:
        since: The version of the protocol that introduced the action; not on the wire.
    """

    since: ClassVar[int] = 1

    time: Time | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class RootAction(KnownAction, frozen=True, kw_only=True):
    """Base of the actions of the root channel."""

    channel_kind: ClassVar[ChannelKind] = "root"


class SessionAction(KnownAction, frozen=True, kw_only=True):
    """Base of the actions of a session channel that pages reduce."""

    channel_kind: ClassVar[ChannelKind] = "session"


class SessionMemberAction(KnownAction, frozen=True, kw_only=True):
    """Base of the actions of a session channel that pages do not reduce: no view shows what they change."""

    channel_kind: ClassVar[ChannelKind] = "session"


class ChatAction(KnownAction, frozen=True, kw_only=True):
    """Base of the actions of a chat channel."""

    channel_kind: ClassVar[ChannelKind] = "chat"


class TurnContentAction(ChatAction, frozen=True, kw_only=True):
    """Base of the actions that change the content of one turn. These can also come late, see `XLate`."""


class TerminalAction(KnownAction, frozen=True, kw_only=True):
    """Base of the actions of a terminal channel."""

    channel_kind: ClassVar[ChannelKind] = "terminal"


class ChangesetAction(KnownAction, frozen=True, kw_only=True):
    """Base of the actions of a changeset channel."""

    channel_kind: ClassVar[ChannelKind] = "changeset"


def kinds_of(base: type[KnownAction]) -> tuple[type[KnownAction], ...]:
    """The actions that are declared with *base*, in the order of their declaration."""
    below = base.__subclasses__()
    return tuple(kind for each in below for kind in kinds_of(each)) if below else (base,)


def action_type(action: Action) -> str:
    """Returns the action's ``type`` on the wire.

    Example:
        >>> from agentnb.state import SessionReady
        >>> action_type(SessionReady())
        'session/ready'
    """
    if isinstance(action, KnownAction):
        return str(action.__struct_config__.tag)
    return str(getattr(action, "type", None))


class ActionOrigin(Wire, frozen=True, kw_only=True):
    """The client that asked for an action (AHP ``ActionOrigin``).

    Args:
        client_id: The client.
        client_seq: The client's own count of the actions that it dispatched.
    """

    client_id: str
    client_seq: int


class Envelope(Wire, frozen=True, kw_only=True):
    """An action with its channel and index (AHP ``ActionEnvelope``; ours counts per channel).

    Args:
        channel: The channel's URI.
        first: The index of the first of several text deltas that were merged into this one.
        index: Its index in the channel: 1, 2, 3 … without gaps.
        action: The action.
        origin: The client that asked for it.
        rejection_reason: Why the action was *not* applied; sent only to the client that asked for it.
        repeated: True if the action was already accepted and came again: it is confirmed, not refused.

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
