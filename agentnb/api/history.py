"""Sessions of earlier kernels, and those that agents keep: listed, searched, opened again."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, overload

from agentnb.agent.catalog import custom
from agentnb.agent.mcp import mcp_servers as servers_of
from agentnb.api.agents import ANSWER_SECONDS, AgentSessions, sessions_kept_by
from agentnb.api.arguments import check_environment, check_text, check_which, mode_of, one_of
from agentnb.api.configured import check_kernel, folders_of
from agentnb.api.history_rows import SessionTable, kernel_log, session_id, session_row
from agentnb.api.session import CALLBACK_SECONDS, session_of
from agentnb.errors import UsageError
from agentnb.host import current_host
from agentnb.host.history.restore import LOG_OFF, had_kernel_tools, had_mode, read_back, recorder_of, restore, spec_of
from agentnb.host.session_options import SessionOptions
from agentnb.log.store import LISTED, State

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from datetime import date

    from agentnb.api.history_rows import SessionRow, ThisLog
    from agentnb.api.session import Permissions, Session
    from agentnb.policy.keys import Freedom


def sessions(
    search: str = "", *, here: bool = False, cwd: str | os.PathLike[str] | None = None, limit: int = LISTED
) -> SessionTable:
    """The former name of :func:`history`; its *cwd* is *folder* there."""
    message = "agentnb.sessions(…) is agentnb.history(…) now; its cwd is folder there."
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return history(search, here=here, folder=cwd, limit=limit)


@overload
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
    kept_by: None = None,
) -> SessionTable: ...


@overload
def history(
    *,
    kept_by: str,
    folder: str | os.PathLike[str] | None = None,
    everywhere: bool = False,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cursor: str | None = None,
    timeout: float = ANSWER_SECONDS,
) -> AgentSessions: ...


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
    kept_by: str | None = None,
    everywhere: bool = False,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cursor: str | None = None,
    timeout: float = ANSWER_SECONDS,
) -> SessionTable | AgentSessions:
    """Returns sessions from the log, of this kernel and of others; the pinned ones first, then the latest.

    Only sessions that meet all conditions are returned. With *kept_by* it returns instead a page of the sessions that
    an agent itself keeps, including those of other programs (ACP ``session/list``).

    Args:
        search: The text to find in titles, prompts, answers, agents or folders, ignoring case. Each row's ``hits`` show
            where it was found. A text of one or two characters is searched for in the latest 500 sessions only.
        here: Only sessions begun in this notebook; in this folder, if no server says which notebook it is (a console, a
            script).
        folder: Only sessions of this workspace, which need not exist any more. With *kept_by*: the current folder by
            default.
        agent: Only sessions of this agent, by its name.
        since: Only sessions with activity on this day or later, or from this moment on: a date, a datetime, or ISO 8601
            text (``"2026-11-02"``). Without a time zone it is local time.
        until: Only sessions without activity since that moment; for a day, since its beginning.
        state: Only sessions with a ``"running"`` turn, those of them that wait for an answer (``"needs-you"``), or
            sessions whose last turn ``"failed"``.
        archived: True: only archived sessions; False: only the others.
        limit: The most sessions to return.
        kept_by: The name of the agent that lists its own sessions.
        everywhere: With *kept_by*: True to list the sessions of every folder.
        command: With *kept_by*: as for :func:`start`.
        env: With *kept_by*: as for :func:`start`.
        cursor: With *kept_by*: the start of the page, which is the ``cursor`` of the page before.
        timeout: With *kept_by*: seconds to wait for the agent, at most; it may have to be started.

    Returns:
        One row per session; a notebook shows them as a table. Its ``note`` says if not all could be searched yet: the
        first search after an update adds existing sessions to the search index, for at most three seconds. With
        *kept_by*, ``start(agent, session=row)`` opens a session, and ``cursor`` is the start of the next page.

    Raises:
        UsageError: If *search* or *agent* is not text, *folder* not a path, *since* or *until* not a date, *state* none
            of those, *limit* not a number above zero, or an argument cannot be used with, or without, *kept_by*.
        LogError: If the log cannot be read.
        NotOffered: If the agent cannot list its sessions.
        AgentError: If the agent cannot be started, refuses, or does not answer.

    Example:
        >>> agentnb.history("residuals", since="2026-11-01")  # doctest: +SKIP
        >>> page = agentnb.history(kept_by="claude")  # doctest: +SKIP
        >>> session = agentnb.start("claude", session=page[0])  # doctest: +SKIP
    """
    conditions: Any = {"state": state, "archived": archived, "agent": agent, "since": since, "until": until}
    asking: Any = {"everywhere": everywhere, "command": command, "env": env, "cursor": cursor}
    if kept_by is None:
        why = "needs kept_by=, since it is about the sessions that an agent keeps"
        _refuse(asking | {"timeout": timeout != ANSWER_SECONDS}, why)
        return list_sessions(kernel_log(), search, here=here, folder=folder, limit=limit, **conditions)
    why = "does not go with kept_by=, since agents cannot search for it"
    _refuse(conditions | {"search": search, "here": here, "limit": limit != LISTED}, why)
    return sessions_kept_by(kept_by, cwd=folder, timeout=timeout, **asking)


def _refuse(arguments: Mapping[str, object], why: str) -> None:
    for name in (name for name, value in arguments.items() if value):
        raise UsageError(f"{name}= {why}.", hint='For example agentnb.history(kept_by="claude", everywhere=True).')


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
    if state != "":
        state = one_of("state", state, [each for each in get_args(State) if each], hint='For example state="failed".')
    which |= {"limit": limit, "state": state, "archived": bool(archived)}
    if log is None:
        return SessionTable(note=LOG_OFF)
    if here:
        which = {**log.here, **which}
    matches, note = log.store.find(search, **which), log.note
    if matches.left:
        note = (
            f"{note} {matches.left:,} older sessions are not in the search index yet. Search again to include them."
        ).strip()
    elsewhere = log.store.held(matches.sessions)
    narrowed = search or [value for name, value in which.items() if name != "limit" and value not in (None, "", False)]
    rows = (session_row(record, log, elsewhere, matches.hits.get(record.uri, ())) for record in matches.sessions)
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
    """Reopen a session of the log with its transcript, its queue and its workspace.

    At the next prompt the agent resumes or loads its own session if it can; if not, its new session gets the
    transcript. A session that cannot continue, because its workspace is gone or another kernel has it open, is opened
    read-only: :attr:`Session.read_only` says why, and a prompt raises that error.

    Args:
        session: A row of :func:`history`, its id, or the beginning of the id.
        command: The agent's command, if the catalogue does not know the agent.
        permissions: As for :func:`agentnb.start`; if this and *freedom* are None, as the session had them, but
            ``"ask"`` instead of ``"allow"``.
        permission_timeout: As for :func:`agentnb.start`.
        freedom: As for :func:`agentnb.start`.
        env: As for :func:`agentnb.start`. The log stores no *env*, *mcp_servers* or *directories*: they hold secrets.
        mcp_servers: As for :func:`agentnb.start`; if None, those of ``%config Agentnb.mcp_servers``.
        directories: As for :func:`agentnb.start`.
        kernel_tools: False: no access to the kernel. True: the session's earlier access (run or look), or run if it had
            none. None: its earlier access; if it had none, you can give it access in the chat.

    Returns:
        The session; if it is already open in this kernel, that one.

    Raises:
        UsageError: If *session* is not an id, or the MCP servers are invalid.
        UnknownSession: If the log has no such session, or several.
        LogError: If the log cannot be read.

    Example:
        >>> session = agentnb.resume("1f0c83a2")  # doctest: +SKIP
    """
    mode, environment = mode_of("ask" if permissions is None else permissions, freedom), check_environment(env)
    host = current_host()
    wanted = session_id(session)
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
        env=environment,
        mcp_servers=servers,
        directories=tuple(more),
        kernel_tools=kernel_access,
        kernel_access=None if kernel_tools is None else "run" if kernel_tools else "off",
        chain=host.environment.default_components(),
        mode=mode,
        network=confinement.network,
        is_unasked=confinement.is_unasked,
    )
    return session_of(host.loop.call(restore, host, stored, options), permissions or "ask", permission_timeout)
