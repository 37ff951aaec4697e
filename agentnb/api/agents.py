"""The table of agents: what is known, what is installed, what to type for what is missing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from agentnb.acp.doctor import Checkup
from agentnb.agent.catalog import installed, known
from agentnb.api import agent_lines
from agentnb.api.columns import lines, padded
from agentnb.checkup.examination import examine
from agentnb.host import current_host

if TYPE_CHECKING:
    from collections.abc import Iterator


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


class AgentTable(tuple[AgentRow, ...]):
    """The known agents; a table when displayed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join("  ".join(cells) for cells in padded(list(self._rows())))

    def _repr_markdown_(self) -> str:
        head, *rows = ("| " + " | ".join(map(_cell, cells)) + " |" for cells in self._rows())
        return "\n".join([head, "|---|---|---|---|", *rows])

    def _rows(self) -> Iterator[tuple[str, str, str, str]]:
        yield "name", "agent", "installed", "to install"
        for row in self:
            yield row.name, row.title, "yes" if row.installed else "no", "" if row.installed else row.install


def agents() -> AgentTable:
    """What agents are known, and which of them are installed.

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
            command=" ".join(spec.command),
            install=spec.install or "",
        )
        for spec in known()
    )


class CheckupTable(tuple[Checkup, ...]):
    """The doctor's results; a table when displayed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(lines(list(self._rows())))

    def _repr_markdown_(self) -> str:
        head, *rows = ("| " + " | ".join(map(_cell, cells)) + " |" for cells in self._rows())
        return "\n".join([head, "|---|---|---|---|---|", *rows])

    def _rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        yield "name", "state", "version", "what to type", "what was found"
        for found in self:
            todo = found.todo or (f"%agent -a {found.name}" if found.state == "ready" and found.kind == "agent" else "")
            said = " ".join([*found.message.split(), agent_lines.facts(found)]).strip()
            yield found.name, found.state, found.version or "", todo, said


def doctor(*names: str) -> CheckupTable:
    """Examine Jupyter and the agents; say what is missing and what to type.

    Of Jupyter: versions, every kernel (can it import agentnb?), the extension in JupyterLab, the files that agentnb
    keeps. Of an agent: it is started, opens a session, and ends again.

    Args:
        names: Agents in the catalogue, and ``jupyter``; by default Jupyter and every agent that is known.

    Returns:
        A row per agent; displayed in a notebook it is a table.

    Raises:
        UnknownAgent: If the catalogue has no such agent.

    Example:
        >>> agentnb.doctor("eliza")[0].state  # doctest: +SKIP
        'ready'
    """
    return CheckupTable(current_host().loop.submit(examine(names)).result())


def _cell(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|")
