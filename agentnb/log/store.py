"""The durable log: every session's latest snapshot and what followed it, in one SQLite file that kernels share."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import UnknownSession
from agentnb.log import database
from agentnb.log.database import LogWatch
from agentnb.log.record import LogBatch, SessionRecord, StoredSession, TurnText
from agentnb.log.search_index import SearchIndex
from agentnb.log.usage import add_up, spent_since, usage_of
from agentnb.log.writer import LogWriter, alive, enter, insert, replay
from agentnb.safe_json import without_half_characters
from agentnb.state import ChatOrigin, ChatState, SessionState, SessionStatus, reduce_chat, reduce_session
from agentnb.state.change import iso_time
from agentnb.state.wire import ACTIVITY_MASK

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from typing_extensions import Unpack

    from agentnb.budget import Spent
    from agentnb.errors import LogError
    from agentnb.log.search_index import Hits
    from agentnb.log.usage import By, UsageRow, WhichTurns

LISTED = 50
_UNKNOWN = "The session log has no session {!r}."
_LISTS = "agentnb.history() lists those that it has."

_COLUMNS = "s.uri, agent, title, cwd, place, agent_session, host_id, open, created_at, modified_at, gap"
_FIELDS = (*(name.removeprefix("s.") for name in _COLUMNS.split(", ")), "turns", "status", "pinned", "archived")
_COUNT = "coalesce((SELECT max(number) + 1 FROM turns t WHERE t.uri = s.uri), 0)"
"""The number of turns. There are no gaps, so the last number is enough; counting them would read their texts."""
_MARKS = "coalesce(m.status, 0), coalesce(m.pinned, 0), coalesce(m.archived, 0)"
_FROM = "FROM sessions s LEFT JOIN marks m ON m.uri = s.uri"
_WHERE = """
    EXISTS (SELECT 1 FROM turns t WHERE t.uri = s.uri)
    AND (:cwd IS NULL OR cwd = :cwd) AND (:place IS NULL OR place = :place) AND (:agent IS NULL OR agent = :agent)
    AND (:since IS NULL OR modified_at >= :since) AND (:until IS NULL OR modified_at < :until)
    AND (:archived IS NULL OR coalesce(m.archived, 0) = :archived)
    AND (:activity = 0 OR (m.status & 31 & :activity = :activity
        AND (:activity = 2 OR (open AND host_id IN (SELECT value FROM json_each(:alive))))))
    AND (:search = '' OR s.uri IN (SELECT value FROM json_each(:found)) OR
        instr(folded(title || char(10) || agent || char(10) || cwd || char(10) || place), :search))
"""
_PINNED = f"""
    SELECT s.uri FROM marks m CROSS JOIN sessions s ON s.uri = m.uri
    WHERE m.pinned AND {_WHERE} ORDER BY modified_at DESC, s.uri
"""  # noqa: S608 - constants only
_OTHERS = f"""
    SELECT s.uri {_FROM} WHERE coalesce(m.pinned, 0) = 0 AND {_WHERE}
    ORDER BY modified_at DESC, s.uri LIMIT :limit OFFSET :offset
"""
"""The few pinned ones come first, found by their index (SQLite keeps the order of a CROSS JOIN); those of the others
that a page needs come from the index by time, and the rest is not read."""
_ONE = f"SELECT {_COLUMNS}, {_COUNT}, {_MARKS} {_FROM} WHERE s.uri = ?"
_NAMED = f"SELECT {_COLUMNS}, {_COUNT}, {_MARKS} {_FROM} WHERE instr(s.uri, ?) > 0 LIMIT 2"
_KNOWN = (
    "SELECT agent_session FROM sessions WHERE agent = :agent AND agent_session IN (SELECT value FROM json_each(:ids))"
)
_MARK = "INSERT INTO marks (uri, {0}) VALUES (?, ?) ON CONFLICT (uri) DO UPDATE SET {0} = excluded.{0}"
_ACTIVITY = {
    "": 0,
    "running": SessionStatus.IN_PROGRESS,
    "needs-you": SessionStatus.INPUT_NEEDED,
    "failed": SessionStatus.ERROR,
}
_USED_FROM = "UPDATE usage SET uri = ? WHERE uri = ? AND number >= ?"
_COUNTED_MS = 2 * 86_400_000
_KEEP_COUNTS = "UPDATE usage SET uri = 'deleted:/' || hex(randomblob(16)) WHERE uri = ? AND ended_at >= ?"
_DROP_COUNTS = "DELETE FROM usage WHERE uri LIKE 'deleted:/%' AND ended_at < ?"
"""A deleted conversation's usage still counts in the day's budget: only the numbers stay, without its name."""
_LATEST_TURNS = "SELECT number, turn_id, prompt, answer FROM turns WHERE uri = ? ORDER BY number DESC LIMIT ?"
_HOLDER = "SELECT host_id, open FROM sessions WHERE uri = ?"
_HOSTS = "SELECT host_id, machine, pid, started FROM hosts"


State: TypeAlias = Literal["", "running", "needs-you", "failed"]
"""The states of a session by which a list can be narrowed."""


class Which(TypedDict, total=False):
    """A filter of sessions; all its conditions must hold."""

    cwd: str | None
    place: str | None
    agent: str | None
    since: int | None  # sessions with activity at this time or later, in milliseconds since 1970
    until: int | None
    state: State
    archived: bool | None
    limit: int
    offset: int


_EVERY: dict[str, Any] = {
    **dict.fromkeys(Which.__annotations__), "state": "", "archived": False, "limit": LISTED, "offset": 0
}  # fmt: skip


class FoundSessions(NamedTuple):
    sessions: list[SessionRecord]
    hits: Hits
    left: int  # conversations still to be indexed


class LogStore(LogWriter):
    """The log of one kernel in the file that it shares with others. Safe from any thread."""

    def __init__(self, path: Path, host_id: str, on_done: Callable[[LogError | None], None] = lambda _: None) -> None:
        super().__init__(path, host_id, on_done)
        self._index = SearchIndex(path)

    def sessions(self, search: str = "", **which: Unpack[Which]) -> list[SessionRecord]:
        """Returns the sessions with at least one finished turn, the latest first; arguments as for :meth:`find`."""
        return self.find(search, **which).sessions

    def find(self, search: str = "", **which: Unpack[Which]) -> FoundSessions:
        """Returns the sessions with at least one finished turn, the latest first, and where *search* occurs in them."""
        search = without_half_characters(search)
        with self._reading() as connection:
            hits, left = self._index.find(connection, search) if search and self.path.exists() else ({}, 0)
            wanted = {**_EVERY, **without_half_characters(dict(which))}
            query: dict[str, Any] = {**wanted, "search": search.casefold(), "found": json.dumps([*hits])}
            sessions = _listed(connection, query)
        return FoundSessions(sessions, {each.uri: hits[each.uri] for each in sessions if each.uri in hits}, left)

    def known(self, agent: str, ids: list[str]) -> set[str]:
        """Returns those of *ids*, an agent's own session ids, that the log has."""
        with self._reading() as connection:
            return {name for (name,) in connection.execute(_KNOWN, {"agent": agent, "ids": json.dumps(ids)})}

    def named(self, beginning: str) -> list[SessionRecord]:
        """Returns the sessions, two at most, whose tab id begins with *beginning*."""
        with self._reading() as connection:
            return [_record(row) for row in connection.execute(_NAMED, (f"/{beginning}",))] if beginning else []

    def latest_turns(self, uri: str, limit: int) -> list[TurnText]:
        """Returns the last finished turns of a session as text, oldest first; [] if the log does not have it."""
        with self._reading() as connection:
            rows = connection.execute(_LATEST_TURNS, (uri, limit)).fetchall()
        return [
            TurnText(uri=uri, number=number, turn_id=turn_id, prompt=prompt, answer=answer)
            for number, turn_id, prompt, answer in reversed(rows)
        ]

    def usage(self, by: By, limit: int, **which: Unpack[WhichTurns]) -> list[UsageRow]:
        """Returns the summed usage of turns, the latest first."""
        with self._reading() as connection:
            return add_up(connection, by, which, limit)

    def spent_since(self, moment: int) -> Spent:
        """Returns what the turns of all kernels, also running ones, used since *moment* (milliseconds since 1970)."""
        with self._reading() as connection:
            return spent_since(connection, moment)

    def load(self, uri: str) -> StoredSession:
        with self._reading() as connection:
            row = connection.execute(_ONE, (uri,)).fetchone()
            if row is None:
                raise UnknownSession(_UNKNOWN.format(uri), hint=_LISTS)
            session, session_index, missing = replay(connection, uri, SessionState, reduce_session)
            chat, chat_index, gap = replay(connection, f"{uri}/chat", ChatState, reduce_chat)
            used = usage_of(connection, uri)
        record = _record(row)
        return StoredSession(
            record=record,
            session=replace(session, title=record.title),  # the user may have renamed it
            session_index=session_index,
            chat=chat,
            chat_index=chat_index,
            gap=gap or missing or record.gap,
            usage=used,
        )

    def held(self, records: Iterable[SessionRecord]) -> set[str]:
        """Returns the URIs of the sessions that another live kernel has open."""
        theirs = [record for record in records if record.open and record.host_id != self._host_id]
        with self._reading() as connection:
            alive_hosts = _alive(connection) if theirs else set()
        return {record.uri for record in theirs if record.host_id in alive_hosts}

    def mine(self, records: Iterable[SessionRecord]) -> set[str]:
        """Returns the URIs of the sessions that this kernel has open."""
        return {record.uri for record in records if record.open and record.host_id == self._host_id}

    def claim(self, uri: str) -> bool:
        """Claim the session for this kernel, atomically; returns False if another live kernel has it open."""
        with self._reading() as connection, database.transaction(connection):
            row = connection.execute(_HOLDER, (uri,)).fetchone()
            if row is not None and row[1] and row[0] != self._host_id and row[0] in _alive(connection):
                return False
            enter(connection, self._host_id)
            connection.execute("UPDATE sessions SET host_id = ?, open = 1 WHERE uri = ?", (self._host_id, uri))
        return True

    def release(self, uri: str) -> None:
        """Release a claimed session that is not going to be opened after all."""
        with self._reading() as connection:
            connection.execute("UPDATE sessions SET open = 0 WHERE uri = ? AND host_id = ?", (uri, self._host_id))

    def rename(self, uri: str, title: str) -> bool:
        """Rename a session; returns False if a live kernel has it open: that kernel writes the title."""
        with self._changing(uri) as (connection, host_id, is_open):
            if is_open and host_id in _alive(connection):
                return False
            connection.execute("UPDATE sessions SET title = ? WHERE uri = ?", (title, uri))
        return True

    def mark(self, uri: str, *, pinned: bool | None = None, archived: bool | None = None) -> None:
        """Pin or archive a session, or undo that; None leaves a mark as it is."""
        with self._changing(uri) as (connection, _, _):
            for name, value in (("pinned", pinned), ("archived", archived)):
                if value is not None:
                    connection.execute(_MARK.format(name), (uri, int(value)))

    def duplicate(
        self,
        uri: str,
        copy: str,
        title: str,
        now: int,
        *,
        agent_session: str | None = None,
        used_from: int | None = None,
    ) -> SessionRecord:
        """Copy the transcript of a session to a new session that is not open.

        *agent_session* is the agent's own id of the new one. The usage of the turns from number *used_from* on moves
        to the copy.
        """
        batch = _copied(self.load(uri), self.latest_turns(uri, -1), copy, title, now, agent_session=agent_session)
        with self._reading() as connection, database.transaction(connection):
            insert(connection, batch, self._host_id)
            if used_from is not None:
                connection.execute(_USED_FROM, (copy, uri, used_from))
        return batch.sessions[copy]

    def forget(self, uri: str) -> bool:
        """Delete a session from the file; returns True if there was one."""
        with self._reading() as connection, database.transaction(connection):
            count = connection.execute("DELETE FROM sessions WHERE uri = ?", (uri,)).rowcount
            connection.execute(_KEEP_COUNTS, (uri, now_ms() - _COUNTED_MS))
            connection.execute(_DROP_COUNTS, (now_ms() - _COUNTED_MS,))
            for table in ("turns", "usage"):
                connection.execute(f"DELETE FROM {table} WHERE uri = ?", (uri,))  # noqa: S608
            for table in ("snapshots", "entries"):
                connection.execute(f"DELETE FROM {table} WHERE channel IN (?, ?)", (uri, f"{uri}/chat"))  # noqa: S608
        self._index.forget(uri)
        return count > 0

    def watch(self) -> LogWatch | None:
        """Returns a watch for changes that any kernel makes in the file from now on; None if there is no file yet."""
        self.flush()
        return LogWatch(self.path) if self.path.exists() else None

    @contextlib.contextmanager
    def _changing(self, uri: str) -> Iterator[tuple[sqlite3.Connection, str, bool]]:
        """Yield a transaction about one session, the kernel that had it last, and True if it was not closed."""
        with self._reading() as connection, database.transaction(connection):
            row = connection.execute(_HOLDER, (uri,)).fetchone()
            if row is None:
                raise UnknownSession(_UNKNOWN.format(uri), hint=_LISTS)
            yield connection, row[0], bool(row[1])

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection to the log, with everything written so far; to an empty log if there is no file yet."""
        self.flush()
        opened = database.connect(self.path) if self.path.exists() else database.empty()
        with database.explained(self.path), contextlib.closing(opened) as connection:
            yield connection


def _alive(connection: sqlite3.Connection) -> set[str]:
    return {host_id for host_id, *process in connection.execute(_HOSTS) if alive(*process)}


def _listed(connection: sqlite3.Connection, query: dict[str, Any]) -> list[SessionRecord]:
    """Returns a page of the list: the pinned sessions, then the others, the latest first."""
    activity = int(_ACTIVITY[query["state"]])
    query |= {"activity": activity, "alive": json.dumps([*_alive(connection)] if activity else [])}
    first, count = query["offset"], query["limit"]
    pinned = [uri for (uri,) in connection.execute(_PINNED, query)]
    uris = pinned[first : first + count]
    query |= {"offset": max(0, first - len(pinned)), "limit": count - len(uris)}
    uris += [uri for (uri,) in connection.execute(_OTHERS, query)]
    return [_record(row) for uri in uris for row in connection.execute(_ONE, (uri,))]


def _record(row: tuple[Any, ...]) -> SessionRecord:
    values = dict(zip(_FIELDS, row, strict=True))
    flags = {name: bool(values[name]) for name in ("open", "pinned", "archived")}
    known = {"agent_session": values["agent_session"] or None, "status": values["status"] & ACTIVITY_MASK}
    return SessionRecord(**{**values, **flags, **known})


def _copied(
    stored: StoredSession, turns: Iterable[TurnText], copy: str, title: str, now: int, *, agent_session: str | None
) -> LogBatch:
    """Returns the batch for a copy with a new title and agent's session, without queued prompts and running turn."""
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
    chats = tuple(replace(each, resource=channel) for each in stored.session.chats if each.resource == chat.resource)
    session = replace(stored.session, title=title, chats=chats, default_chat=channel, changesets=None)
    record = replace(
        stored.record,
        uri=copy,
        title=title,
        agent_session=agent_session,
        open=False,
        created_at=now,
        modified_at=now,
        status=status & ACTIVITY_MASK,
        pinned=False,
        archived=False,
    )
    return LogBatch(
        sessions={copy: record},
        turns=[replace(turn, uri=copy) for turn in turns],
        snapshots={copy: (1, session), channel: (1, transcript)},
    )
