"""The sessions that agents keep themselves: listed page by page, opened in a tab, deleted; and logging out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from agentnb.acp.listing import AgentSession
from agentnb.api.columns import Rows, Table, moment
from agentnb.api.configured import configuration_of, configured
from agentnb.api.waiting import within
from agentnb.host import current_host
from agentnb.host.kept_sessions import deleted, listed, logged_out

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

ANSWER_SECONDS = 120.0
"""How long an agent has to answer, at most; it may have to be started."""


class AgentSessions(Table, Rows[AgentSession]):
    """One page of an agent's sessions; a table when displayed.

    Args:
        rows: The sessions, as the agent orders them.
        cursor: Where the next page begins; what ``history(kept_by=…, cursor=…)`` takes. None where this is the last.
    """

    _head = ("id", "title", "when", "folder")
    _none = "The agent has no saved sessions here."

    def __init__(self, rows: Iterable[AgentSession] = (), cursor: str | None = None) -> None:
        super().__init__(rows)
        self.cursor = cursor

    def _cells(self, row: AgentSession) -> tuple[str, ...]:
        return row.id, row.title, moment(row.updated), row.cwd

    def _notes(self) -> list[str]:
        return [] if self.cursor is None else [f"There are more. Pass cursor={self.cursor!r} for the next page."]


def sessions_kept_by(
    agent: str | None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    everywhere: bool = False,
    cursor: str | None = None,
    timeout: float = ANSWER_SECONDS,
) -> AgentSessions:
    """One page of the sessions that *agent* keeps: ``history(kept_by=agent)``."""
    configuration = configuration_of(configured(agent, command, env, cwd))
    host = current_host()
    work = listed(host, configuration, None if everywhere else str(configuration.cwd), cursor)
    page = within(host, work, timeout, configuration.spec.title)
    return AgentSessions(page.sessions, page.next_cursor)


def agent_sessions(
    agent: str | None = None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    everywhere: bool = False,
    cursor: str | None = None,
    timeout: float = ANSWER_SECONDS,
) -> AgentSessions:
    """The former name of ``agentnb.history(kept_by=agent)``."""
    message = "agentnb.agent_sessions(agent) is agentnb.history(kept_by=agent) now; its cwd is folder there."
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return sessions_kept_by(
        agent, command=command, env=env, cwd=cwd, everywhere=everywhere, cursor=cursor, timeout=timeout
    )


def delete_session(
    session: str | AgentSession,
    agent: str | None = None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float = 120.0,
) -> None:
    """Make an agent delete one of its sessions permanently (ACP ``session/delete``).

    The log's copy stays; :func:`forget` deletes that.

    Args:
        session: A row of ``history(kept_by=agent)``, or its id.
        agent: As for :func:`start`; the row's where a row is given.
        command: As for :func:`start`.
        env: As for :func:`start`.
        cwd: As for :func:`start`.
        timeout: Seconds to wait for the agent, at most.

    Raises:
        SessionError: If it is open in a tab here.
        NotOffered: If the agent does not offer it.
        AgentError: If it cannot be started, refuses, or does not answer.

    Example:
        >>> agentnb.delete_session(agentnb.history(kept_by="claude")[0])  # doctest: +SKIP
    """
    named = agent or (None if isinstance(session, str) else session.agent)
    configuration = configuration_of(configured(named, command, env, cwd))
    host = current_host()
    work = deleted(host, configuration, session if isinstance(session, str) else session.id)
    within(host, work, timeout, configuration.spec.title)


def logout(
    agent: str | None = None,
    *,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    timeout: float = 120.0,
) -> None:
    """Sign an agent out (ACP ``logout``), in every process of it that runs here.

    Args:
        agent: As for :func:`start`.
        command: As for :func:`start`.
        env: As for :func:`start`.
        cwd: As for :func:`start`.
        timeout: Seconds to wait for the agent, at most.

    Raises:
        UsageError: If a turn of this agent is running.
        NotOffered: If the agent does not offer it; the message says what to type instead.
        AgentError: If it cannot be started, refuses, or does not answer.

    Example:
        >>> agentnb.logout("codex")  # doctest: +SKIP
    """
    configuration = configuration_of(configured(agent, command, env, cwd))
    host = current_host()
    within(host, logged_out(host, configuration), timeout, configuration.spec.title)
