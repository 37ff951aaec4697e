"""Agents as tables and lines: what is known, installed or missing, and the sessions that agents keep themselves."""

from __future__ import annotations

import shlex
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.acp.doctor import Checkup
from agentnb.acp.opening import AgentSession
from agentnb.agent.catalog import installed, known, run_by
from agentnb.agent.process import missing_installer
from agentnb.api import columns
from agentnb.api.columns import MarkdownTable, Rows, Table, moment
from agentnb.api.configured import configuration_of, configured
from agentnb.api.waiting import within
from agentnb.checkup.examination import examine
from agentnb.host import current_host
from agentnb.host.history.restore import deleted, listed, logged_out

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from agentnb.agent.catalog import AgentSpec


MODELS = 3
"""The most models of an agent that are listed."""


def row(spec: AgentSpec, path: Any) -> dict[str, Any]:
    """Returns one agent's row as JSON; *path* is the path of its program, None if it is not installed."""
    return {
        "name": spec.name,
        "title": spec.title,
        "installed": path is not None,
        "path": None if path is None else str(path),
        "command": [spec.url] if spec.url else list(spec.command),
        "install": spec.install,
        "requires": spec.requires,
        "login": spec.login,
        "runner": None if spec.runner is None else list(spec.runner.words),
        "runs": run_by(spec) is not None,
        "needs": None if path is not None else missing_installer(spec),
    }


def listing(rows: list[dict[str, Any]]) -> str:
    """Returns the list of known agents, one per line."""
    if not rows:
        return "No agents found."
    lines = [("NAME", "AGENT", "", "WHAT TO TYPE")]
    lines += [(row["name"], row["title"], "installed" if row["installed"] else "missing", _next(row)) for row in rows]
    return "\n".join(columns.lines(lines))


def checkups(examined: Iterable[Checkup]) -> str:
    """Returns the results of starting agents for a moment, one per line."""
    checked = list(examined)
    rows = [(each.name, each.state, each.version or "-", _prescription(each)) for each in checked]
    head, *lines = columns.lines([("NAME", "STATE", "VERSION", "WHAT TO DO"), *rows])
    whole = [head]
    for each, line in zip(checked, lines, strict=True):
        whole += [line, *(f"    {more}" for more in each.message.splitlines()[1:])]
    return "\n".join(whole)


def facts(checkup: Checkup) -> str:
    """Returns how long an agent took to start, and its models, in words; empty if neither is known.

    Example:
        >>> from agentnb.acp.doctor import Checkup
        >>> facts(Checkup(name="a", title="A", state="ready", seconds=1.4, models=("One", "Two")))
        'Starts in 1.4 s. Models: One, Two.'
    """
    words = [] if checkup.seconds is None else [f"Starts in {checkup.seconds:.1f} s."]
    if checkup.models:
        more = f" and {len(checkup.models) - MODELS} more" if len(checkup.models) > MODELS else ""
        words.append(f"Models: {', '.join(checkup.models[:MODELS])}{more}.")
    return " ".join(words)


def _prescription(checkup: Checkup) -> str:
    if checkup.state == "ready" and checkup.kind == "agent":
        hint = " ".join(filter(None, [checkup.message.removeprefix("It answers.").strip(), facts(checkup)]))
        return f"%agent -a {checkup.name}" + (f"   ({hint})" if hint else "")
    first_line = checkup.message.splitlines()[0] if checkup.message else ""
    return f"{checkup.todo}   ({first_line})" if checkup.todo else first_line


def _next(row: dict[str, Any]) -> str:
    if row["installed"]:
        return f"%agent -a {row['name']}"
    if row["runs"]:
        return f"%agent -a {row['name']}   ({row['runner'][0]} downloads it at the first start)"
    if row["needs"] and row["install"]:
        return f"{row['install']}   ({row['needs']})"
    if row["install"] and row["requires"]:
        return f"{row['install']}   (needs {row['requires']})"
    return row["install"] or row["needs"] or f"put `{shlex.join(row['command'][:1])}` on your PATH"


class AgentRow(NamedTuple):
    """One agent in the catalogue.

    Attributes:
        name: The name that ``%agent -a`` and :func:`agentnb.start` take.
        title: Its full name.
        installed: True if its command is on the PATH.
        command: The command that starts it, or its URL if it runs elsewhere.
        install: The command to type if it is missing; empty if nothing is needed.
    """

    name: str
    title: str
    installed: bool
    command: str
    install: str


class AgentTable(MarkdownTable, tuple[AgentRow, ...]):
    """The known agents; a table when displayed."""

    __slots__ = ()

    _head = ("name", "agent", "installed", "to install")

    def _cells(self, row: AgentRow) -> tuple[str, ...]:
        return row.name, row.title, "yes" if row.installed else "no", "" if row.installed else row.install


def agents() -> AgentTable:
    """Returns the known agents and whether each is installed.

    Returns:
        One row per agent; a notebook shows them as a table.

    Example:
        >>> [row.name for row in agentnb.agents() if row.installed]  # doctest: +SKIP
        ['eliza']
    """
    return AgentTable(
        AgentRow(
            name=spec.name,
            title=spec.title,
            installed=installed(spec) is not None,
            command=spec.url or " ".join(spec.command),
            install=spec.install or "",
        )
        for spec in known()
    )


class CheckupTable(MarkdownTable, tuple[Checkup, ...]):
    """The doctor's results; a table when displayed."""

    __slots__ = ()

    _head = ("name", "state", "version", "what to type", "what was found")

    def _cells(self, row: Checkup) -> tuple[str, ...]:
        todo = row.todo or (f"%agent -a {row.name}" if row.state == "ready" and row.kind == "agent" else "")
        message = " ".join([*row.message.split(), facts(row)]).strip()
        return row.name, row.state, row.version or "", todo, message


def doctor(*names: str) -> CheckupTable:
    """Check Jupyter and the agents; report what is missing and what to type.

    For Jupyter it checks the versions, whether each kernel can import agentnb, the JupyterLab extension, and the files
    that agentnb keeps. It starts each agent, opens a session, and ends the agent again.

    Args:
        names: Names of agents in the catalogue, or ``jupyter``; by default Jupyter and every known agent.

    Returns:
        One row per agent; a notebook shows them as a table.

    Raises:
        UnknownAgent: If the catalogue has no such agent.

    Example:
        >>> agentnb.doctor("eliza")[0].state  # doctest: +SKIP
        'ready'
    """
    return CheckupTable(current_host().loop.submit(examine(names)).result())


ANSWER_SECONDS = 120.0
"""The most seconds that an agent has to answer; it may have to be started."""


class AgentSessions(Table, Rows[AgentSession]):
    """One page of an agent's sessions; a table when displayed.

    Args:
        rows: The sessions, in the agent's order.
        cursor: The start of the next page, for ``history(kept_by=…, cursor=…)``; None on the last page.
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

    The copy in the log stays; :func:`forget` deletes it.

    Args:
        session: A row of ``history(kept_by=agent)``, or its id.
        agent: As for :func:`start`; by default the row's agent, if *session* is a row.
        command: As for :func:`start`.
        env: As for :func:`start`.
        cwd: As for :func:`start`.
        timeout: Seconds to wait for the agent, at most.

    Raises:
        SessionError: If the session is open in a tab here.
        NotOffered: If the agent does not support this.
        AgentError: If the agent cannot be started, refuses, or does not answer.

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
    """Sign an agent out (ACP ``logout``), in all its processes that run here.

    Args:
        agent: As for :func:`start`.
        command: As for :func:`start`.
        env: As for :func:`start`.
        cwd: As for :func:`start`.
        timeout: Seconds to wait for the agent, at most.

    Raises:
        UsageError: If a turn of this agent is running.
        NotOffered: If the agent does not support this; the message says what to type instead.
        AgentError: If the agent cannot be started, refuses, or does not answer.

    Example:
        >>> agentnb.logout("codex")  # doctest: +SKIP
    """
    configuration = configuration_of(configured(agent, command, env, cwd))
    host = current_host()
    within(host, logged_out(host, configuration), timeout, configuration.spec.title)
