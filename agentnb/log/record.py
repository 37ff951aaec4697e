"""The records of a session in the durable log, and the latest envelopes of each channel in memory."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from agentnb.state import TEXT_DELTAS, ChatState, Envelope, MarkdownResponsePart, SessionState, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.state import Turn


SEARCHED_CHARACTERS = 20_000  # characters of an answer that are searched
MAX_ENTRIES = 5_000
MAX_BYTES = 8 * 1024 * 1024
ENVELOPE_BYTES = 120  # size of an envelope without its text


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A session as the log lists it.

    Args:
        uri: The session's channel, ``<agent>:/<tab id>``.
        agent: The agent's name in the catalogue.
        title: Its title.
        cwd: The workspace.
        place: Where it was started, such as a notebook's path; empty if unknown.
        agent_session: The agent's own id of the session; None if the agent never opened one.
        host_id: The kernel that had it last.
        open: True if it had not been closed.
        created_at: Milliseconds since 1970.
        modified_at: Milliseconds since 1970.
        turns: The number of its turns so far.
        gap: What part of it was once lost to damage, and why; None if nothing was.
        status: Its activity at the last write of the log, bits of :class:`agentnb.state.SessionStatus`; 0 if an
            older agentnb wrote it.
        pinned: True if it comes before all others in lists.
        archived: True if lists leave it out.
    """

    uri: str
    agent: str
    title: str
    cwd: str
    place: str = ""
    agent_session: str | None = None
    host_id: str
    open: bool = True
    created_at: int
    modified_at: int
    turns: int = 0
    gap: str | None = None
    status: int = 0
    pinned: bool = False
    archived: bool = False

    @property
    def tab_id(self) -> str:
        return self.uri.rpartition("/")[2]


class TurnText(msgspec.Struct, frozen=True, kw_only=True):
    """A finished turn, for the search."""

    uri: str  # the session's
    number: int  # 0 for the session's first turn
    turn_id: str
    prompt: str
    answer: str  # the agent's message text, shortened


def turn_record(uri: str, number: int, turn: Turn) -> TurnText:
    answer = "".join(part.content for part in turn.response_parts if isinstance(part, MarkdownResponsePart))
    return TurnText(
        uri=uri, number=number, turn_id=turn.id, prompt=turn.message.text, answer=answer[:SEARCHED_CHARACTERS]
    )


class TurnUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a turn, as far as its agent reports it; for a running turn, the usage until now."""

    uri: str  # the session's
    number: int  # 0 for the session's first turn
    ended_at: int  # milliseconds since 1970; for a running turn, when this was written
    input: int | None = None  # tokens that the model read
    output: int | None = None  # tokens that it wrote
    cached: int | None = None  # tokens that it read from its cache
    cost: float | None = None
    currency: str | None = None  # of the cost (ISO 4217)
    took: int | None = None  # milliseconds that it ran, without the time it waited for the user


class StoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session read back from the log."""

    record: SessionRecord
    session: SessionState
    session_index: int
    chat: ChatState
    chat_index: int
    gap: str | None = None  # what is missing and why; None if nothing is
    elsewhere: bool = False  # True if another kernel has it open: then it is read-only here
    usage: tuple[TurnUsage, ...] = ()


@dataclass
class LogBatch:
    """The data of one write."""

    sessions: dict[str, SessionRecord] = field(default_factory=dict)  # those that are new or changed, by URI
    turns: list[TurnText] = field(default_factory=list)  # those that ended
    usage: list[TurnUsage] = field(default_factory=list)
    snapshots: dict[str, tuple[int, Any]] = field(default_factory=dict)  # by channel: index and state
    entries: list[Envelope] = field(default_factory=list)  # in order

    def __bool__(self) -> bool:
        return bool(self.sessions or self.turns or self.usage or self.snapshots or self.entries)


class ChannelLog:
    """The latest envelopes of one channel."""

    def __init__(self, *, max_entries: int = MAX_ENTRIES, begins_after: int = 0) -> None:
        self._max_entries = max_entries
        self._entries: deque[tuple[Envelope, int]] = deque()
        self._bytes = 0
        self._dropped_to = begins_after

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, envelope: Envelope) -> None:
        """Keep *envelope*; the oldest are dropped when a limit is exceeded."""
        size = _size(envelope)
        self._entries.append((envelope, size))
        self._bytes += size
        while len(self._entries) > 1 and (len(self._entries) > self._max_entries or self._bytes > MAX_BYTES):
            oldest, oldest_size = self._entries.popleft()
            self._bytes -= oldest_size
            self._dropped_to = oldest.index

    def reaches(self, after: int) -> bool:
        """True if every envelope with an index above *after* is still here."""
        return after >= self._dropped_to

    def after(self, index: int) -> list[Envelope]:
        """Returns all kept envelopes with an index above *index*, oldest first."""
        skip = max(0, index - self._dropped_to)
        return [envelope for envelope, _ in islice(self._entries, skip, None)]


def _size(envelope: Envelope) -> int:
    action = envelope.action
    if isinstance(action, TEXT_DELTAS):
        return ENVELOPE_BYTES + len(action.content)
    return ENVELOPE_BYTES + len(encode(action))


def merge_envelopes(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Join neighbouring deltas of one part into one envelope that spans ``first..index``."""
    return [_join(list(group)) for _, group in groupby(envelopes, key=_part)]


def _part(envelope: Envelope) -> object:
    """The part that a delta continues; for any other envelope, its own index."""
    action = envelope.action
    if isinstance(action, TEXT_DELTAS) and envelope.origin is None and action.meta is None:
        return type(action), action.turn_id, action.part_id, action.time is None
    return envelope.index


def _join(envelopes: list[Envelope]) -> Envelope:
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
