"""Changing the log's sessions: renamed, pinned, archived, copied, deleted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.api.arguments import check_text
from agentnb.api.history_rows import ID_CHARACTERS, session_id, session_row
from agentnb.api.this_log import demanded, kernel_log, shell_log
from agentnb.clock import now_ms
from agentnb.errors import SessionError
from agentnb.host import current_host
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.workspace_store import WorkspaceStores
from agentnb.host.history.arrangement import arrange, checked_title, copy_of, delete, duplicate
from agentnb.host.history.restore import ELSEWHERE, named, named_in

if TYPE_CHECKING:
    from agentnb.api.history_rows import SessionRow
    from agentnb.log.record import SessionRecord
    from agentnb.log.store import LogStore

FORGET_SECONDS = 60.0


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
    host, wanted = current_host(), session_id(session)
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
        SessionError: If a turn runs in it.
        LogError: If the log is off, or cannot be read or written.
        AgentError: If its agent fails.

    Example:
        >>> agentnb.resume(agentnb.duplicate_session("1f0c83a2"))  # doctest: +SKIP
    """
    host, wanted = current_host(), session_id(session)
    copy, _ = host.loop.submit(duplicate(host, lambda log: named(log, wanted))).result(FORGET_SECONDS)
    return _now(copy)


def forget(session: str | SessionRow) -> SessionRow:
    """Delete a session from the log permanently: its transcript, its queue, its title, and what its turns changed.

    What the agent itself keeps of it stays; :func:`delete_session` deletes that, where the agent offers it.

    Args:
        session: A row of :func:`history`, its id, or the beginning of the id.

    Returns:
        What was deleted.

    Raises:
        UnknownSession: If the log has no such session, or several.
        SessionError: If it is open, here or in another kernel.
        LogError: If the log cannot be written.

    Example:
        >>> agentnb.forget("1f0c83a2")  # doctest: +SKIP
    """
    host, wanted = current_host(), session_id(session)
    deletion = delete(host, lambda recorder: named(recorder, wanted))
    return session_row(host.loop.submit(deletion).result(FORGET_SECONDS))


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


def _now(wanted: str) -> SessionRow:
    log = demanded(kernel_log())
    record = named_in(log.store, wanted)
    return session_row(record, log, log.store.held([record]))
