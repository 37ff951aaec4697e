"""The table of agents: what is known, what is installed, what to type for what is missing."""

from __future__ import annotations

from typing import NamedTuple

from agentnb.acp.doctor import Checkup
from agentnb.agent.catalog import installed, known
from agentnb.api import agent_lines
from agentnb.api.columns import MarkdownTable
from agentnb.checkup.examination import examine
from agentnb.host import current_host


class AgentRow(NamedTuple):
    """One agent of the catalogue.

    Attributes:
        name: What ``%agent -a`` and :func:`agentnb.start` take.
        title: Its name in full.
        installed: Whether its command is on the PATH.
        command: The command that starts it.
        install: What to type where it is missing; empty where nothing is needed.
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
    """Returns the known agents, and which of them are installed.

    Returns:
        A row per agent; displayed in a notebook it is a table.

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
        message = " ".join([*row.message.split(), agent_lines.facts(row)]).strip()
        return row.name, row.state, row.version or "", todo, message


def doctor(*names: str) -> CheckupTable:
    """Examine Jupyter and the agents; say what is missing and what to type.

    Of Jupyter: versions, every kernel (can it import agentnb?), the extension in JupyterLab, the files that agentnb
    keeps. Of an agent: it is started, opens a session, and ends again.

    Args:
        names: Agents in the catalogue, or ``jupyter``; by default Jupyter and every known agent.

    Returns:
        A row per agent; displayed in a notebook it is a table.

    Raises:
        UnknownAgent: If the catalogue has no such agent.

    Example:
        >>> agentnb.doctor("eliza")[0].state  # doctest: +SKIP
        'ready'
    """
    return CheckupTable(current_host().loop.submit(examine(names)).result())
