"""Sessions of the log as rows of a table."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Literal, NamedTuple

from agentnb.api.arguments import check_text
from agentnb.api.columns import Rows, Table, moment
from agentnb.log.search_index import SearchHit  # noqa: TC001 - a field of a NamedTuple
from agentnb.log.store import State  # noqa: TC001 - likewise
from agentnb.state import SessionStatus

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from agentnb.api.this_log import ThisLog
    from agentnb.log.record import SessionRecord

ID_CHARACTERS = 8  # of an id, in tables; as many as tell sessions apart are enough for `resume`
NONE = "No sessions. A session is saved when its first turn finishes; archived ones are listed separately."
NOT_FOUND = "The session log has no such session."


class SessionRow(NamedTuple):
    """One session of the log.

    Attributes:
        id: Its tab's id, a UUID; what :func:`resume` takes.
        title: Its title.
        agent: The agent's name.
        turns: How many turns it has had.
        modified: When something last happened in it, in UTC.
        open: ``"here"``, ``"in another kernel"``, or empty.
        cwd: Its workspace.
        place: What it was begun in, such as a notebook's path.
        hits: A few places where the searched text stands, the latest first; empty where it was found in the title, the
            agent or the folder only, and where nothing was searched for.
        state: ``"running"`` or ``"needs-you"`` while a turn runs, or waits for an answer, in this kernel or another;
            ``"failed"`` where the last turn failed; empty otherwise.
        pinned: Whether it stands before all others.
        archived: Whether lists leave it out.
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
        note: What is to be said about the log; empty where all is well.
        searched: Whether it was searched: then there may be others.
    """

    _head = ("id", "title", "agent", "turns", "when", "open", "folder")

    def __init__(self, rows: Iterable[SessionRow] = (), note: str = "", *, searched: bool = False) -> None:
        super().__init__(rows)
        self.note = note
        self._none = note or (NOT_FOUND if searched else NONE)

    def _notes(self) -> list[str]:
        return [self.note] if self.note and self else []

    def _table(self) -> list[tuple[str, ...]]:
        """The head and the rows; where something was found in turns, with the first place of each."""
        rows = super()._table()
        if not any(row.hits for row in self):
            return rows
        hit_column = ["found", *(str(row.hits[0]) if row.hits else "" for row in self)]
        return [(*row, place) for row, place in zip(rows, hit_column, strict=True)]

    def _cells(self, row: SessionRow) -> tuple[str, ...]:
        when = moment(row.modified)
        return row.id[:ID_CHARACTERS], row.title, row.agent, str(row.turns), when, row.open, row.cwd


def session_id(session: str | SessionRow) -> str:
    """Returns the id, or its beginning, that *session* names."""
    wanted = session.id if isinstance(session, SessionRow) else session
    check_text("A session's id", wanted, example='"1f0c83a2", as in agentnb.history()')
    return wanted


def session_row(
    record: SessionRecord, log: ThisLog | None = None, elsewhere: Container[str] = (), hits: tuple[SearchHit, ...] = ()
) -> SessionRow:
    """The row of *record*; its places in *hits*, where it was searched for."""
    here = log is not None and log.is_open_here(record.uri)
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
    """Returns what a session is doing; one whose kernel has ended does nothing, whatever the log says."""
    if status & SessionStatus.ERROR:
        return "failed"
    if not is_alive or not status & SessionStatus.IN_PROGRESS:
        return ""
    return "needs-you" if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED else "running"
