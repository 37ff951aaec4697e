"""The thread that writes the durable log, so that nothing else waits for a disk; logs of 0.2 are converted.

Each value shows its form, so a log may contain both forms, and values in today's form stay as they are.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sqlite3
import sys
import threading
import zlib
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from agentnb.errors import LogDamaged, LogError, LogUnavailable, ProtocolError
from agentnb.log import database
from agentnb.log.record import merge_envelopes
from agentnb.safe_json import without_half_characters
from agentnb.state import ChatState, Envelope, decode, encode
from agentnb.state.change import iso_time, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentnb.log.record import LogBatch, SessionRecord, TurnText


Json: TypeAlias = dict[str, Any]

_TURN_ACTION = re.compile(rb'"type":"chat/(?:turn|error)')
_IN_SUMMARY = ("provider", "title", "status", "activity", "project", "annotations")
_SESSION = """
    INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uri) DO UPDATE SET
        title = excluded.title, agent_session = coalesce(excluded.agent_session, agent_session),
        host_id = excluded.host_id, open = excluded.open, modified_at = excluded.modified_at,
        gap = coalesce(excluded.gap, gap)
"""
_STATUS = """
    INSERT INTO marks (uri, status) VALUES (?, ?) ON CONFLICT (uri) DO UPDATE SET status = excluded.status
        WHERE status != excluded.status
"""
_ARCHIVED = "INSERT INTO marks (uri, archived) VALUES (?, 1) ON CONFLICT (uri) DO UPDATE SET archived = 1"
"""Marks are only set with a session and never removed: another kernel may have set them since."""
_ENTRIES = "SELECT at, first, envelope, checksum FROM entries WHERE channel = ? AND at > ? ORDER BY at"
FLUSH_SECONDS = 5.0


def state_of(data: bytes) -> Any:
    """Returns the state of a session or a chat as JSON, converted from a log of 0.2 if needed."""
    state = msgspec.json.decode(data)
    if "summary" in state:
        _read_session(state)
    if "turns" in state:
        _read_chat(state)
    return state


def entry_of(data: bytes, state: Any) -> Any:
    """Returns an envelope, converted from a log of 0.2 if needed; *state* is its channel's state before it."""
    if not _TURN_ACTION.search(data):
        return data
    envelope = msgspec.json.decode(data)
    _read_action(envelope["action"], state)
    return envelope


def _read_session(session: Json) -> None:
    summary = session.pop("summary")
    session |= {name: summary[name] for name in _IN_SUMMARY if name in summary}
    _read_folder(session, summary.get("workingDirectory"))
    if session["lifecycle"] == "creationFailed":
        session["lifecycle"] = "failed"


def _read_chat(chat: Json) -> None:
    _read_folder(chat, chat.pop("workingDirectory", None))
    running = chat.get("activeTurn")
    for turn in [*chat["turns"], *([running] if running else [])]:
        _read_turn(turn)
    if running:
        requests = chat.pop("inputRequests", ())
        running["responseParts"] += [{"kind": "inputRequest", "request": request} for request in requests]


def _read_folder(value: Json, folder: str | None) -> None:
    if folder is not None:
        value["workingDirectories"] = [folder]


def _read_turn(turn: Json) -> None:
    began, ended = turn.get("startedAt"), turn.pop("endedAt", None)
    if isinstance(began, int):
        turn["startedAt"] = iso_time(began)
        if ended is not None:
            turn["duration"] = max(0, ended - began)
    if "error" in turn:
        turn["responseParts"].append({"kind": "error", "error": turn.pop("error")})


def _read_action(action: Json, state: ChatState) -> None:
    if isinstance(action.get("startedAt"), int):
        action["startedAt"] = iso_time(action["startedAt"])
    ended, turn = action.pop("endedAt", None), state.active_turn
    if ended is not None and turn is not None and turn.started_at is not None:
        action["duration"] = max(0, ended - milliseconds(turn.started_at))
    if "error" in action:
        action["part"] = {"kind": "error", "error": action.pop("error")}


class LogWriter:
    """Writes batches in order, each whole or not at all."""

    def __init__(self, path: Path, host_id: str, on_done: Callable[[LogError | None], None]) -> None:
        self.path = path
        self._host_id = host_id
        self._on_done = on_done
        self._batches: SimpleQueue[LogBatch | threading.Event | None] = SimpleQueue()
        self._connection: database.LogConnection | None = None
        self._file: database.FileId = None
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread: Python 3.12 starts none at interpreter shutdown, but lets running ones go on."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="agentnb-log", daemon=True)
            thread.start()
            self._thread = thread

    def write(self, batch: LogBatch) -> None:
        """Queue *batch* to be written soon; never waits."""
        self.begin()
        self._batches.put(batch)

    def flush(self, timeout: float = FLUSH_SECONDS) -> bool:
        """Wait until everything queued is written or has failed; returns False if that takes over *timeout* seconds."""
        if self._thread is None:
            return True
        reached = threading.Event()
        self._batches.put(reached)
        return reached.wait(timeout)

    def close(self, timeout: float = FLUSH_SECONDS) -> None:
        """Write everything queued and end the thread; waits at most *timeout* seconds."""
        if self._thread is not None:
            self._batches.put(None)
            self._thread.join(timeout)

    def _run(self) -> None:
        while (item := self._batches.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            else:
                self._on_done(self._written(item))
        if self._connection is not None:  # the host has ended in good order, which frees the sessions that it had open
            with contextlib.suppress(sqlite3.Error), database.transaction(self._connection):
                self._connection.execute("DELETE FROM hosts WHERE host_id = ?", (self._host_id,))
        self._close()

    def _written(self, batch: LogBatch) -> LogError | None:
        try:
            self._insert(batch)
        except LogError as error:
            self._close()
            return self._put_aside(error) if isinstance(error, LogDamaged) else error
        return None

    def _put_aside(self, damaged: LogDamaged) -> LogError:
        try:
            aside = database.put_aside(self.path, self._file)
        except OSError as error:
            hint = (
                f"It cannot be moved aside ({error.strerror}): move it, or set AGENTNB_LOG to another file, or to off."
            )
            return LogUnavailable(damaged.message, hint=hint)
        if aside is None:
            return self._moved()
        return LogDamaged(damaged.message, hint=f"It was moved aside as {aside.name}; a new one was started.")

    def _insert(self, batch: LogBatch) -> None:
        with database.explained(self.path):
            if self._connection is None:
                self._connection = self._open()
            self._look()
            with database.transaction(self._connection):
                insert(self._connection, batch, self._host_id)
            self._look()

    def _look(self) -> None:
        """Check that the path still leads to the open file; otherwise what is written would be lost with that file."""
        if database.file_at(self.path) != self._file:
            raise self._moved()

    def _moved(self) -> LogUnavailable:
        message = f"The session log {self.path} was moved while this kernel had it open."
        return LogUnavailable(message, hint="The sessions that are open here are written to the existing file in full.")

    def _open(self) -> database.LogConnection:
        self._file = database.file_at(self.path)
        connection = database.connect(self.path)
        self._file = connection.file
        try:
            database.check(connection, self.path)
            with database.transaction(connection):
                enter(connection, self._host_id)
        except BaseException:
            connection.close()
            raise
        return connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()


def enter(connection: sqlite3.Connection, host_id: str) -> None:
    """Record which process this kernel is; to be called within a transaction."""
    host = (host_id, platform.node(), os.getpid(), started(os.getpid()))
    connection.execute("INSERT OR REPLACE INTO hosts VALUES (?, ?, ?, ?)", host)


def sound(data: object, written: int) -> bool:
    return isinstance(data, bytes) and zlib.crc32(data) == written


def insert(connection: sqlite3.Connection, batch: LogBatch, host_id: str) -> None:
    """Write *batch*; to be called within a transaction."""
    sessions = batch.sessions.values()
    connection.executemany(_SESSION, [_session_row(session, host_id) for session in sessions])
    connection.executemany(_STATUS, [(session.uri, session.status) for session in sessions])
    connection.executemany(_ARCHIVED, [(session.uri,) for session in sessions if session.archived])
    for channel, (index, state) in batch.snapshots.items():
        _begin_anew(connection, channel, index, state)
    insert_turns(connection, batch.turns)
    connection.executemany(
        "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", map(msgspec.structs.astuple, batch.usage)
    )
    covered = {channel: index for channel, (index, _) in batch.snapshots.items()}
    fresh = [envelope for envelope in batch.entries if envelope.index > covered.get(envelope.channel, -1)]
    connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", map(_row, _merged(fresh)))


def insert_turns(connection: sqlite3.Connection, turns: Iterable[TurnText]) -> None:
    rows = map(msgspec.structs.astuple, turns)
    connection.executemany("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?)", rows)


def _begin_anew(connection: sqlite3.Connection, channel: str, index: int, state: Any) -> None:
    """Replace everything that the channel had by *state*.

    This includes later entries: they followed something damaged, and would continue from a state that they never saw.
    """
    data = encode(state)
    connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", (channel, index, data, zlib.crc32(data)))
    connection.execute("DELETE FROM entries WHERE channel = ?", (channel,))
    if isinstance(state, ChatState):
        uri, count = channel.removesuffix("/chat"), len(state.turns)
        running = count + (state.active_turn is not None)  # the running turn's usage so far is kept
        for table, first in (("turns", count), ("usage", running)):
            connection.execute(f"DELETE FROM {table} WHERE uri = ? AND number >= ?", (uri, first))  # noqa: S608


def _session_row(session: SessionRecord, host_id: str) -> tuple[object, ...]:
    what = (session.uri, session.agent, session.title, session.cwd, session.place, session.agent_session)
    times = (session.created_at, session.modified_at)
    return (*map(without_half_characters, what), host_id, int(session.open), *times, session.gap)


def _row(envelope: Envelope) -> tuple[str, int, int, bytes, int]:
    data = encode(envelope)
    first = envelope.index if envelope.first is None else envelope.first
    return envelope.channel, envelope.index, first, data, zlib.crc32(data)


def _merged(envelopes: Iterable[Envelope]) -> list[Envelope]:
    by_channel: dict[str, list[Envelope]] = {}
    for envelope in envelopes:
        by_channel.setdefault(envelope.channel, []).append(envelope)
    return [merged for of_one in by_channel.values() for merged in merge_envelopes(of_one)]


def started(pid: int) -> str:
    """Returns when process *pid* began, in the system's own units; '' if unknown or if there is no such process."""
    if sys.platform != "linux":
        return ""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return fields[19] if len(fields) > 19 else ""  # noqa: PLR2004 - starttime, the 22nd of proc_pid_stat(5)


def alive(on: str, pid: int, began: str) -> bool:
    """True if process *pid* on machine *on*, which began at *began*, is still running, as far as can be told here."""
    if on != platform.node() or sys.platform == "win32":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return started(pid) == began


def replay(
    connection: sqlite3.Connection, channel: str, kind: type[Any], reduce: Callable[[Any, Any], Any]
) -> tuple[Any, int, str | None]:
    """Returns a channel's state, its index, and a sentence on what is missing of it, or None."""
    row = connection.execute("SELECT at, state, checksum FROM snapshots WHERE channel = ?", (channel,)).fetchone()
    if row is None or not sound(row[1], row[2]):
        message = f"The session {channel.removesuffix('/chat')} cannot be read: its snapshot is missing or damaged."
        raise LogDamaged(message, hint="agentnb.history() lists the others.")
    index, state = row[0], _decoded(kind, state_of(row[1]), channel)
    for at, first, data, written in connection.execute(_ENTRIES, (channel, index)):
        if first != index + 1 or not sound(data, written):
            return state, index, f"What came after entry {index} of {channel} is damaged in the log."
        state, index = reduce(state, _decoded(Envelope, entry_of(data, state), channel).action), at
    return state, index, None


def _decoded(kind: type[Any], data: Any, channel: str) -> Any:
    try:
        return decode(kind, data)
    except ProtocolError as error:
        message = f"The session {channel.removesuffix('/chat')} cannot be read: {error.message}"
        raise LogUnavailable(message, hint="It may have been written by a newer agentnb; update.") from error
