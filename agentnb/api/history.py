"""Sessions of earlier kernels: listed, searched, opened again."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from agentnb.agent.catalog import custom
from agentnb.agent.mcp import mcp_servers as servers_of
from agentnb.api.arguments import (
    check_environment,
    check_text,
    check_which,
    mode_of,
)
from agentnb.api.columns import Rows, Table, moment
from agentnb.api.configured import check_kernel, folders_of
from agentnb.api.session import CALLBACK_SECONDS, session_of
from agentnb.api.this_log import demanded, kernel_log, shell_log
from agentnb.clock import now_ms
from agentnb.errors import SessionError, UsageError
from agentnb.host import current_host
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.workspace_store import WorkspaceStores
from agentnb.host.history.arrangement import arrange, checked_title, copy_of, delete, duplicate
from agentnb.host.history.restore import (
    ELSEWHERE,
    LOG_OFF,
    had_kernel_tools,
    had_mode,
    named,
    named_in,
    read_back,
    recorder_of,
    restore,
    spec_of,
)
from agentnb.host.session_options import SessionOptions
from agentnb.log.search_index import SearchHit  # noqa: TC001 - a field of a NamedTuple
from agentnb.log.store import LISTED, State
from agentnb.state import SessionStatus

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterable, Mapping, Sequence

    from agentnb.api.session import Permissions, Session
    from agentnb.api.this_log import ThisLog
    from agentnb.log.record import SessionRecord
    from agentnb.log.store import LogStore
    from agentnb.policy.freedom import Freedom

ID_CHARACTERS = 8  # of an id, in tables; as many as tell sessions apart are enough for `resume`
FORGET_SECONDS = 60.0
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


def sessions(
    search: str = "",
    *,
    here: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    limit: int = LISTED,
) -> SessionTable:
    """The sessions that the log has kept; :func:`history` with fewer choices.

    Args:
        search: As for :func:`history`.
        here: As for :func:`history`.
        cwd: As *folder* for :func:`history`.
        limit: As for :func:`history`.

    Returns:
        A row per session; displayed in a notebook it is a table.

    Raises:
        UsageError: If *search* is not text, *cwd* not a path, or *limit* not a number above zero.
        LogError: If the log cannot be read.

    Example:
        >>> agentnb.sessions(search="residuals")  # doctest: +SKIP
    """
    return history(search, here=here, folder=cwd, limit=limit)


def history(
    search: str = "",
    *,
    here: bool = False,
    folder: str | os.PathLike[str] | None = None,
    agent: str | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
    state: State = "",
    archived: bool = False,
    limit: int = LISTED,
) -> SessionTable:
    """The sessions that the log has kept, of this kernel and of others; the pinned ones first, then the latest.

    All conditions must hold.

    Args:
        search: What is to be found in titles, prompts, answers, agents or folders; capitals do not matter. Each row's
            ``hits`` say where it stands. A text of one or two characters is looked for in the latest 500 sessions.
        here: Only those that were begun in this notebook; where no server says which that is (a console, a script), in
            this folder.
        folder: Only those of this workspace, which need not be there any more.
        agent: Only those of this agent, by its name.
        since: Only those in which something happened on this day or later, or from this moment on: a date, a datetime,
            or ISO 8601 text (``"2026-11-02"``). Without a time zone it is local time.
        until: Only those in which nothing has happened since that moment; for a day, since its beginning.
        state: Only those in which a turn is ``"running"``, those of them that wait for an answer (``"needs-you"``), or
            those whose last turn ``"failed"``.
        archived: Only those that are archived; otherwise only those that are not.
        limit: How many, at most.

    Returns:
        A row per session; displayed in a notebook it is a table. Its ``note`` says where not all could be searched yet:
        the first search after an update adds what is there to the search index, three seconds long at most.

    Raises:
        UsageError: If *search* or *agent* is no text, *folder* no path, *since* or *until* no date, *state* none of
            those, or *limit* no number above zero.
        LogError: If the log cannot be read.

    Example:
        >>> agentnb.history("residuals", since="2026-11-01")  # doctest: +SKIP
    """
    more: Any = {"state": state, "archived": archived, "agent": agent, "since": since, "until": until}
    return list_sessions(kernel_log(), search, here=here, folder=folder, limit=limit, **more)


def list_sessions(
    log: ThisLog | None,
    search: str = "",
    *,
    here: bool = False,
    folder: str | os.PathLike[str] | None = None,
    limit: int = LISTED,
    state: State = "",
    archived: bool = False,
    **conditions: Any,
) -> SessionTable:
    """The sessions of a log; the arguments are those of :func:`history`."""
    if search != "":
        check_text("search", search, example='search="residuals"')
    which = check_which(limit, folder, **conditions)
    which |= {"limit": limit, "state": _check_state(state), "archived": bool(archived)}
    if log is None:
        return SessionTable(note=LOG_OFF)
    if here:
        which = {**log.here, **which}
    found, note = log.store.find(search, **which), log.note
    if found.left:
        note = (
            f"{note} {found.left:,} older sessions are not in the search index yet. Search again to include them."
        ).strip()
    elsewhere = log.store.held(found.sessions)
    narrowed = search or [value for name, value in which.items() if name != "limit" and value not in (None, "", False)]
    rows = (_row(record, log, elsewhere, found.hits.get(record.uri, ())) for record in found.sessions)
    return SessionTable(rows, note, searched=bool(narrowed))


def resume(
    session: str | SessionRow,
    *,
    command: Sequence[str] | None = None,
    permissions: Permissions | None = None,
    permission_timeout: float = CALLBACK_SECONDS,
    freedom: Freedom | None = None,
    env: Mapping[str, str] | None = None,
    mcp_servers: Sequence[Any] | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    directories: Sequence[str | os.PathLike[str]] = (),
    kernel_tools: bool | None = None,
) -> Session:
    """Open a session of the log again: its transcript, its queue, its workspace.

    At the next prompt the agent resumes or loads its own session where it can; where it cannot, its new session is
    given the transcript. Where it cannot go on, because its workspace is gone or another kernel has it open,
    it is opened to be read: :attr:`Session.read_only` says why, and a prompt raises that.

    Args:
        session: A row of :func:`sessions`, its id, or the beginning of the id.
        command: The agent's command, where the catalogue does not know the agent.
        permissions: As for :func:`agentnb.start`; where None, and *freedom* too, as the session had them. What had
            ``"allow"`` asks.
        permission_timeout: As for :func:`agentnb.start`.
        freedom: As for :func:`agentnb.start`.
        env: As for :func:`agentnb.start`; the log keeps none of these three, they hold secrets.
        mcp_servers: As for :func:`agentnb.start`; where None, those of ``%config Agentnb.mcp_servers``.
        directories: As for :func:`agentnb.start`.
        kernel_tools: As for :func:`agentnb.start`; where None, the access that the session had (run, look or off). One
            that had none gets it only with True; else it is off until you change it in the chat.

    Returns:
        The session; the one that is open already, where it is open in this kernel.

    Raises:
        UsageError: If *session* is not an id, or the MCP servers are invalid.
        UnknownSession: If the log has no such session, or several.
        LogError: If the log cannot be read.

    Example:
        >>> session = agentnb.resume("1f0c83a2")  # doctest: +SKIP
    """
    mode, given = mode_of("ask" if permissions is None else permissions, freedom), check_environment(env)
    host = current_host()
    wanted = session.id if isinstance(session, SessionRow) else session
    check_text("A session's id", wanted, example='"1f0c83a2", as in agentnb.sessions()')
    servers = host.environment.default_mcp_servers() if mcp_servers is None else servers_of(mcp_servers)
    more = folders_of(directories)
    kernel_access = host.environment.default_kernel_access() if kernel_tools is None else kernel_tools
    if kernel_access:
        check_kernel(host)
    stored = read_back(recorder_of(host), wanted)
    if kernel_tools is None:
        kernel_access = kernel_access or had_kernel_tools(stored)
    if permissions is None and freedom is None:
        mode = had_mode(stored, "ask")
    spec = spec_of(stored.record) if command is None else custom(command, name=stored.record.agent)
    confinement = host.environment.default_confinement(spec, Path(stored.record.cwd))
    options = SessionOptions(
        spec=spec,
        cwd=Path(stored.record.cwd),
        env=given,
        mcp_servers=servers,
        directories=tuple(more),
        kernel_tools=kernel_access,
        kernel_access="run" if kernel_tools else None,
        chain=host.environment.default_components(),
        mode=mode,
        network=confinement.network,
        is_unasked=confinement.is_unasked,
    )
    return session_of(host.loop.call(restore, host, stored, options), permissions or "ask", permission_timeout)


def update_session(
    session: str | SessionRow, *, title: str | None = None, pinned: bool | None = None, archived: bool | None = None
) -> SessionRow:
    """Rename a session of the log, pin it, archive it, or take that back. What is None stays as it is.

    Args:
        session: A row of :func:`history`, its id, or the beginning of the id.
        title: Its new title: one line of at most 200 characters.
        pinned: Whether it stands before all others in lists.
        archived: Whether lists leave it out; ``agentnb.history(archived=True)`` shows those.

    Returns:
        The session as it is now.

    Raises:
        UsageError: If the title is empty or too long.
        UnknownSession: If the log has no such session, or several.
        SessionError: If it is to be renamed and another kernel has it open.
        LogError: If the log is off, or cannot be written.

    Example:
        >>> agentnb.update_session("1f0c83a2", title="Residuals", pinned=True)  # doctest: +SKIP
    """
    host, wanted = current_host(), _id(session)
    if title is not None:
        check_text("title", title, example='title="Residuals"')
    change = arrange(host, lambda log: named(log, wanted), title=title, pinned=pinned, archived=archived)
    host.loop.submit(change).result(FORGET_SECONDS)
    return _now(wanted)


def duplicate_session(session: str | SessionRow) -> SessionRow:
    """Copy a session of the log, so that it can go on in two ways.

    The transcript is copied, and the agent begins anew in the copy. Where the session is open here and its agent can
    copy its own session, the copy is opened and the agent remembers. :meth:`Session.fork` copies an open session only.

    Args:
        session: A row of :func:`history`, its id, or the beginning of the id.

    Returns:
        The copy; :func:`resume` opens it.

    Raises:
        UnknownSession: If the log has no such session, or several.
        SessionError: If a turn is running in it.
        LogError: If the log is off, or cannot be read or written.
        AgentError: If its agent fails.

    Example:
        >>> agentnb.resume(agentnb.duplicate_session("1f0c83a2"))  # doctest: +SKIP
    """
    host, wanted = current_host(), _id(session)
    copy, _ = host.loop.submit(duplicate(host, lambda log: named(log, wanted))).result(FORGET_SECONDS)
    return _now(copy)


def forget(session: str | SessionRow) -> SessionRow:
    """Delete a session from the log permanently: its transcript, its queue, its title, and what its turns changed.

    The agent's own copy stays; :func:`delete_session` deletes that, if the agent offers it.

    Args:
        session: A row of :func:`sessions`, its id, or the beginning of the id.

    Returns:
        What was deleted.

    Raises:
        UnknownSession: If the log has no such session, or several.
        SessionError: If it is open, here or in another kernel.
        LogError: If the log cannot be written.

    Example:
        >>> agentnb.forget("1f0c83a2")  # doctest: +SKIP
    """
    host, wanted = current_host(), _id(session)
    deletion = delete(host, lambda recorder: named(recorder, wanted))
    return _row(host.loop.submit(deletion).result(FORGET_SECONDS))


def change_kept(
    wanted: str, *, title: str | None, pinned: bool | None, archived: bool | None, duplicated: bool, deleted: bool
) -> str:
    """The same for a shell, where no kernel runs. Says what was done to the session whose id begins so."""
    store = demanded(shell_log()).store
    record = named_in(store, wanted)
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
        copy = copy_of(named_in(store, record.tab_id))
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


def _id(session: str | SessionRow) -> str:
    wanted = session.id if isinstance(session, SessionRow) else session
    check_text("A session's id", wanted, example='"1f0c83a2", as in agentnb.history()')
    return wanted


def _now(wanted: str) -> SessionRow:
    log = demanded(kernel_log())
    record = named_in(log.store, wanted)
    return _row(record, log, log.store.held([record]))


def _row(
    record: SessionRecord, log: ThisLog | None = None, elsewhere: Container[str] = (), hits: tuple[SearchHit, ...] = ()
) -> SessionRow:
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


def _check_state(state: object) -> State:
    known_state = next((each for each in get_args(State) if each == state), None)
    if known_state is None:
        known = ", ".join(repr(each) for each in get_args(State) if each)
        raise UsageError(f"state={state!r} is not one of {known}.", hint='For example state="failed".')
    checked: State = known_state
    return checked
