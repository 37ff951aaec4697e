"""The sessions that an agent keeps, a page at a time (ACP ``session/list``)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import msgspec

from agentnb.acp.fields import objects, text


class ListedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session that an agent keeps (ACP ``SessionInfo``)."""

    session_id: str
    cwd: str = ""
    title: str = ""
    updated: datetime | None = None
    raw: dict[str, Any] = msgspec.field(default_factory=dict)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of sessions."""

    sessions: tuple[ListedSession, ...]
    next_cursor: str | None = None


def read_page(answer: dict[str, Any]) -> Page:
    """Read the answer to ``session/list``; a session without an id is ignored."""
    found = [_kept(each, name) for each in objects(answer.get("sessions")) if (name := text(each.get("sessionId")))]
    return Page(sessions=tuple(found), next_cursor=text(answer.get("nextCursor")))


def _kept(each: dict[str, Any], session_id: str) -> ListedSession:
    return ListedSession(
        session_id=session_id,
        cwd=text(each.get("cwd")) or "",
        title=text(each.get("title")) or "",
        updated=_moment(text(each.get("updatedAt"))),
        raw=each,
    )


def _moment(said: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat((said or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment.astimezone(timezone.utc) if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
