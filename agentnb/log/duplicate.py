"""A session's copy under another name: what was said, without what waits, runs or is remembered by the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.log.record import Batch
from agentnb.state import ChatOrigin, ChatState, SessionStatus
from agentnb.state.change import iso_time
from agentnb.state.status import ACTIVITY_MASK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.log.record import StoredSession, TurnRecord


def copied(stored: StoredSession, turns: Iterable[TurnRecord], copy: str, title: str, now: int) -> Batch:
    """What to write so that the log has a copy.

    Args:
        stored: The session.
        turns: Its finished turns as text.
        copy: The copy's channel.
        title: Its title.
        now: Milliseconds since 1970.
    """
    channel, chat = f"{copy}/chat", stored.chat
    status = chat.status & ~ACTIVITY_MASK | (chat.status & SessionStatus.ERROR or SessionStatus.IDLE)
    last = chat.turns[-1].id if chat.turns else None
    transcript = ChatState(
        resource=channel,
        title=title,
        status=status,
        modified_at=iso_time(now),
        origin=ChatOrigin(kind="fork", chat=chat.resource, turn_id=last),
        turns=chat.turns,
        terminals=chat.terminals,
    )
    summary = replace(stored.session.summary, resource=copy, title=title, created_at=now, modified_at=now)
    chats = tuple(
        replace(each, resource=channel) for each in stored.session.chats if each.resource == stored.chat.resource
    )
    session = replace(stored.session, summary=summary, chats=chats, default_chat=channel, changesets=None)
    record = replace(
        stored.record,
        uri=copy,
        title=title,
        agent_session=None,
        open=False,
        created_at=now,
        modified_at=now,
        status=status & ACTIVITY_MASK,
        pinned=False,
        archived=False,
    )
    return Batch(
        sessions={copy: record},
        turns=[replace(turn, uri=copy) for turn in turns],
        snapshots={copy: (1, session), channel: (1, transcript)},
    )
