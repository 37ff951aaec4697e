"""The answers of ``%agents``: a table of tabs, or one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.api.columns import lines
from agentnb.ipython.markdown import harmless_line
from agentnb.state import SessionStatus

if TYPE_CHECKING:
    from agentnb.api.session import Session
    from agentnb.ipython.tabs import Tabs

_HEAD = ("", "tab", "agent", "state", "turns", "title")


class TabRow(NamedTuple):
    """One tab."""

    current: bool
    name: str
    agent: str
    state: str
    turns: int
    title: str


class TabTable(tuple[TabRow, ...]):
    """The open tabs; a table when displayed."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "No tab is open. `%agent Hello` opens one."
        return "\n".join(lines([_HEAD, *map(_cells, self)]))

    def _repr_markdown_(self) -> str:
        if not self:
            return repr(self)
        rows = [_HEAD, ("---",) * len(_HEAD), *map(_cells, self)]
        return "\n".join("| " + " | ".join(map(_escaped, row)) + " |" for row in rows)


class Note(str):
    """One line for people, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def tab_table(tabs: Tabs) -> TabTable:
    """The open tabs as they are now."""
    current = tabs.current
    return TabTable(
        TabRow(name == current, name, session.agent, _state(session), len(session.turns), session.title)
        for name, session in tabs.all().items()
    )


def _state(session: Session) -> str:
    status = session.chat.status
    if status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED:
        word = "needs you"
    elif status & SessionStatus.IN_PROGRESS:
        word = "working"
    else:
        word = "error" if status & SessionStatus.ERROR else "idle"
    waiting = len(session.queue)
    return f"{word}, {waiting} queued" if waiting else word


def _cells(row: TabRow) -> tuple[str, ...]:
    return ("*" if row.current else "", row.name, row.agent, row.state, str(row.turns), row.title)


def _escaped(cell: str) -> str:
    return "\\*" if cell == "*" else harmless_line(cell).replace("|", "\\|")
