"""The sessions that an agent keeps, a page at a time (ACP ``session/list``)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, NamedTuple

import msgspec

from agentnb.acp.fields import objects, text


class AgentSession(NamedTuple):
    """One session that an agent keeps (ACP ``SessionInfo``); listed by ``agentnb.history(kept_by=…)``."""

    id: str
    title: str  # its title; empty where it has none
    cwd: str  # its folder; empty where the agent does not say
    updated: datetime | None  # when something last happened in it, in UTC; None where the agent does not say
    agent: str
    raw: dict[str, Any]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of sessions."""

    sessions: tuple[AgentSession, ...]
    next_cursor: str | None = None


def read_page(answer: dict[str, Any], agent: str) -> Page:
    """Read the answer to ``session/list``; a session without an id is ignored."""
    rows = [
        _session(each, name, agent) for each in objects(answer.get("sessions")) if (name := text(each.get("sessionId")))
    ]
    return Page(sessions=tuple(rows), next_cursor=text(answer.get("nextCursor")))


def _session(each: dict[str, Any], session_id: str, agent: str) -> AgentSession:
    title, cwd = text(each.get("title")) or "", text(each.get("cwd")) or ""
    return AgentSession(session_id, title, cwd, _moment(text(each.get("updatedAt"))), agent, each)


def _moment(timestamp: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat((timestamp or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment.astimezone(timezone.utc) if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
