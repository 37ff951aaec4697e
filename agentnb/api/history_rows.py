"""Sessions of the log as rows of a table; renames, pins, archives, copies and deletes them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from agentnb.api.arguments import check_text
from agentnb.api.columns import Rows, Table, moment
from agentnb.clock import now_ms
from agentnb.errors import LogUnavailable, SessionError
from agentnb.host import current_host
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.workspace_store import WorkspaceStores
from agentnb.host.history.arrangement import arrange, checked_title, copy_of, delete, duplicate
from agentnb.host.history.restore import ELSEWHERE, LOG_OFF, named, recorder_of
from agentnb.ids import new_id
from agentnb.log.location import log_location
from agentnb.log.search_index import SearchHit  # noqa: TC001 - a field of a NamedTuple
from agentnb.log.store import LogStore, State
from agentnb.state import SessionStatus

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from agentnb.host.host import Host
    from agentnb.log.record import SessionRecord
    from agentnb.log.store import Which


class ThisLog(NamedTuple):
    """The log, its kernel's host (None in a shell), and a note on what is wrong with the log."""

    store: LogStore
    host: Host | None = None
    note: str = ""

    @property
    def here(self) -> Which:
        """The filter for sessions that were begun here."""
        return {} if self.host is None else recorder_of(self.host).here()


def kernel_log() -> ThisLog | None:
    """Returns this kernel's log; None if it is off."""
    host = current_host()
    if host.recorder is None:
        return None
    recorder = recorder_of(host)
    return ThisLog(recorder.store, host, recorder.note)


def shell_log() -> ThisLog | None:
    """Returns the log's file, for a shell without a kernel; None if the log is off."""
    path = log_location()
    return None if path is None else ThisLog(LogStore(path, new_id()))


def demanded(log: ThisLog | None) -> ThisLog:
    """Returns *log*.

    Raises:
        LogUnavailable: If the log is off.
    """
    if log is None:
        raise LogUnavailable(LOG_OFF, hint="Unset AGENTNB_LOG; in a kernel, restart it then.")
    return log


ID_CHARACTERS = 8  # characters of an id in tables; `resume` accepts any unambiguous prefix
NONE = "No sessions. A session is saved when its first turn finishes; archived ones are listed separately."
NOT_FOUND = "The session log has no such session."


class SessionRow(NamedTuple):
    """One session of the log.

    Attributes:
        id: Its tab's id, a UUID, for :func:`resume`.
        title: Its title.
        agent: The agent's name.
        turns: The number of its turns.
        modified: The time of its last activity, in UTC.
        open: ``"here"``, ``"in another kernel"``, or empty.
        cwd: Its workspace.
        place: The place where it was begun, such as a notebook's path.
        hits: A few places where the searched text was found, the latest first; empty if it was found in the title, the
            agent or the folder only, or if nothing was searched for.
        state: ``"running"`` or ``"needs-you"`` while a turn runs or waits for an answer, in this kernel or another;
            ``"failed"`` if the last turn failed; empty otherwise.
        pinned: True if lists show it before all others.
        archived: True if lists leave it out.
    """

    id: str
    title: str
    agent: str
    turns: int
    modified: datetime
    open: Literal["here", "in another kernel", ""]
    cwd: str
    place: str
    hits: tuple[SearchHit, ...] = ()
    state: State = ""
    pinned: bool = False
    archived: bool = False


class SessionTable(Table, Rows[SessionRow]):
    """Sessions of the log, the latest first; a table when displayed.

    Args:
        rows: The sessions.
        note: A note on a problem with the log; empty if all is well.
        searched: True if these are the results of a search: then there may be other sessions.
    """

    _head = ("id", "title", "agent", "turns", "when", "open", "folder")

    def __init__(self, rows: Iterable[SessionRow] = (), note: str = "", *, searched: bool = False) -> None:
        super().__init__(rows)
        self.note = note
        self._none = note or (NOT_FOUND if searched else NONE)

    def _notes(self) -> list[str]:
        return [self.note] if self.note and self else []

    def _table(self) -> list[tuple[str, ...]]:
        """Returns the header and the rows; after a search with hits in turns, also the first hit of each session."""
        rows = super()._table()
        if not any(row.hits for row in self):
            return rows
        hit_column = ["found", *(str(row.hits[0]) if row.hits else "" for row in self)]
        return [(*row, place) for row, place in zip(rows, hit_column, strict=True)]

    def _cells(self, row: SessionRow) -> tuple[str, ...]:
        when = moment(row.modified)
        return row.id[:ID_CHARACTERS], row.title, row.agent, str(row.turns), when, row.open, row.cwd


def session_id(session: str | SessionRow) -> str:
    """Returns the session id, or the beginning of one, that *session* stands for."""
    wanted = session.id if isinstance(session, SessionRow) else session
    check_text("A session's id", wanted, example='"1f0c83a2", as in agentnb.history()')
    return wanted


def session_row(
    record: SessionRecord, log: ThisLog | None = None, elsewhere: Container[str] = (), hits: tuple[SearchHit, ...] = ()
) -> SessionRow:
    """Returns the row of *record*; *hits* are its search hits, if there was a search."""
    here = log is not None and log.host is not None and record.uri in log.host.conversations
    return SessionRow(
        id=record.tab_id,
        title=record.title,
        agent=record.agent,
        turns=record.turns,
        modified=datetime.fromtimestamp(record.modified_at / 1000, timezone.utc),
        open="here" if here else "in another kernel" if record.uri in elsewhere else "",
        cwd=record.cwd,
        place=record.place,
        hits=hits,
        state=_state(record.status, is_alive=here or record.uri in elsewhere),
        pinned=record.pinned,
        archived=record.archived,
    )


def _state(status: int, *, is_alive: bool) -> State:
    """Returns the session's state; never an active one if its kernel has ended, whatever the log says."""
    if status & SessionStatus.ERROR:
        return "failed"
    if not is_alive or not status & SessionStatus.IN_PROGRESS:
        return ""
    return "needs-you" if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED else "running"


FORGET_SECONDS = 60.0


def update_session(
    session: str | SessionRow, *, title: str | None = None, pinned: bool | None = None, archived: bool | None = None
) -> SessionRow:
    """Rename, pin or archive a session of the log, or undo that. Arguments that are None change nothing.

    Args:
        session: A row of :func:`history`, its id, or the beginning of the id.
        title: Its new title: one line of at most 200 characters.
        pinned: True to show it before all others in lists.
        archived: True to leave it out of lists; ``agentnb.history(archived=True)`` shows it.

    Returns:
        The session as it is now.

    Raises:
        UsageError: If the title is empty or too long.
        UnknownSession: If the log has no such session, or several.
        SessionError: If a new title is given and another kernel has the session open.
        LogError: If the log is off, or cannot be written.

    Example:
        >>> agentnb.update_session("1f0c83a2", title="Residuals", pinned=True)  # doctest: +SKIP
    """
    host, wanted = current_host(), session_id(session)
    if title is not None:
        check_text("title", title, example='title="Residuals"')
    change = arrange(host, lambda log: named(log.store, wanted), title=title, pinned=pinned, archived=archived)
    host.loop.submit(change).result(FORGET_SECONDS)
    return _now(wanted)


def duplicate_session(session: str | SessionRow) -> SessionRow:
    """Copy a session of the log, so that it can continue in two ways.

    The transcript is copied, and the agent starts afresh in the copy. If the session is open here and its agent can
    copy its own session, the copy is opened and the agent remembers. :meth:`Session.fork` copies only an open session.

    Args:
        session: A row of :func:`history`, its id, or the beginning of the id.

    Returns:
        The copy; :func:`resume` opens it.

    Raises:
        UnknownSession: If the log has no such session, or several.
        SessionError: If a turn runs in it.
        LogError: If the log is off, or cannot be read or written.
        AgentError: If its agent fails.

    Example:
        >>> agentnb.resume(agentnb.duplicate_session("1f0c83a2"))  # doctest: +SKIP
    """
    host, wanted = current_host(), session_id(session)
    copy, _ = host.loop.submit(duplicate(host, lambda log: named(log.store, wanted))).result(FORGET_SECONDS)
    return _now(copy)


def forget(session: str | SessionRow) -> SessionRow:
    """Delete a session from the log permanently: its transcript, queue and title, and the record of its changes.

    The agent's own copy stays; :func:`delete_session` deletes that, if the agent supports it.

    Args:
        session: A row of :func:`history`, its id, or the beginning of the id.

    Returns:
        The deleted session.

    Raises:
        UnknownSession: If the log has no such session, or several.
        SessionError: If it is open, here or in another kernel.
        LogError: If the log cannot be written.

    Example:
        >>> agentnb.forget("1f0c83a2")  # doctest: +SKIP
    """
    host, wanted = current_host(), session_id(session)
    deletion = delete(host, lambda recorder: named(recorder.store, wanted))
    return session_row(host.loop.submit(deletion).result(FORGET_SECONDS))


def change_kept(
    wanted: str, *, title: str | None, pinned: bool | None, archived: bool | None, duplicated: bool, deleted: bool
) -> str:
    """Change the session whose id begins with *wanted*, in a shell without a kernel; returns what was done."""
    store = demanded(shell_log()).store
    record = named(store, wanted)
    if deleted:
        return _delete_kept(store, record)
    done = [f"{record.tab_id[:ID_CHARACTERS]} {record.title}:"]
    if title is not None:
        if not store.rename(record.uri, checked_title(title)):
            raise SessionError(ELSEWHERE.format(record.title), hint="Rename it there.")
        done.append(f"renamed to {title.strip()!r}.")
    store.mark(record.uri, pinned=pinned, archived=archived)
    done += [f"pinned: {'yes' if pinned else 'no'}."] if pinned is not None else []
    done += [f"archived: {'yes' if archived else 'no'}."] if archived is not None else []
    if duplicated:
        copy = copy_of(named(store, record.tab_id))
        store.duplicate(record.uri, *copy, now_ms())
        done.append(f"duplicated as {copy[0].rpartition('/')[2]}.")
    return " ".join(done)


def _delete_kept(store: LogStore, record: SessionRecord) -> str:
    if store.held([record]):
        raise SessionError(ELSEWHERE.format(record.title), hint="Close it there, or restart that kernel.")
    store.forget(record.uri)
    stores = WorkspaceStores(changes_folder())
    asyncio.run(stores.forget(Path(record.cwd), record.tab_id))
    return f"{record.tab_id[:ID_CHARACTERS]} {record.title}: deleted."


def _now(wanted: str) -> SessionRow:
    log = demanded(kernel_log())
    record = named(log.store, wanted)
    return session_row(record, log, log.store.held([record]))
