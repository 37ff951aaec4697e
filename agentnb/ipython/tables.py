"""The answers of ``%agents``: a table of tabs, the policy, or one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentnb.api.columns import MarkdownTable, lines, markdown
from agentnb.ipython.markdown import harmless_line
from agentnb.policy.keys import FILE_KEYS
from agentnb.state import SessionStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.api.policy import Policy
    from agentnb.api.session import Session
    from agentnb.ipython.tabs import Tabs

_ALWAYS = "critical commands, sensitive files, anything outside the workspace, commands that cannot be read"
_WIDEST = 80


class TabRow(NamedTuple):
    current: bool
    name: str
    agent: str
    state: str
    turns: int
    title: str


class TabTable(MarkdownTable, tuple[TabRow, ...]):
    """The open tabs; a table when displayed."""

    __slots__ = ()

    _head = ("", "tab", "agent", "state", "turns", "title")
    _none = "No tab is open. `%agent Hello` opens one."

    def _cells(self, row: TabRow) -> tuple[str, ...]:
        return ("*" if row.current else "", row.name, row.agent, row.state, str(row.turns), row.title)

    def _escaped(self, cell: str) -> str:
        return "\\*" if cell == "*" else escaped_cell(cell)


class Remark(str):
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


def _confined(item: tuple[str, Any]) -> str:
    agent, value = item
    if isinstance(value, bool):
        return agent if value else f"not {agent}"
    return f"{agent} ({value if isinstance(value, str) else ', '.join(value)})"


class PolicyTable:
    """The policy; two tables when displayed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __repr__(self) -> str:
        tables = (lines([*map(_short, rows)]) for rows in (self._rules(), self._decisions()))
        return "\n".join(self._facts()) + "".join("\n\n" + "\n".join(table) for table in tables)

    def _repr_markdown_(self) -> str:
        facts = [f"- {escaped_cell(fact)}" for fact in self._facts()]
        tables = (markdown(map(_short, rows), escaped_cell) for rows in (self._rules(), self._decisions()))
        return "\n".join(facts) + "".join(f"\n\n{table}" for table in tables)

    def _facts(self) -> list[str]:
        held = self.policy
        facts = [f"Warning: {warning}" for warning in held.warnings]
        facts += [f"This session has permissions={held.mode!r}."] if held.mode is not None else []
        facts += [f"Doesn't need to ask: {', '.join(held.bypass)}."] if held.bypass else []
        facts += [f"Confined: {', '.join(confined)}."] if (confined := [*map(_confined, held.confine.items())]) else []
        facts.append(self._trust())
        facts.append(f"Always asks: {_ALWAYS}.")
        said = ((key, getattr(held, key.name)) for key in reversed(FILE_KEYS))
        facts += [key.fact(value) for key, value in said if value is not None]
        facts.append(f"Yours: {held.user_file}. The project's: {held.project_file}. The log: {held.log_file}.")
        return facts

    def _trust(self) -> str:
        held = self.policy
        if held.trusted:
            return f"{held.folder} is trusted: your file's allow rules apply here."
        others = f" (Trusted: {', '.join(held.trusted_folders)}.)" if held.trusted_folders else ""
        return f"{held.folder} is not trusted: your file's allow rules ask here. `%agents trust` trusts it.{others}"

    def _rules(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("from", "rule", "where")]
        rows += [(each.source, each.rule.text, each.where or "answered on a card") for each in self.policy.rules]
        rows += [
            ("settings", f"{'sensitive' if is_ else 'not sensitive'} {pattern}", "[sensitive]")
            for pattern, is_ in self.policy.sensitive
        ]
        if len(rows) == 1:
            rows.append(("default", "reading in the workspace is allowed; the session's mode decides the rest", ""))
        return rows

    def _decisions(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("when", "agent", "what", "severity", "outcome", "by", "rule")]
        for each in self.policy.records:
            what = f"{each.tool} {each.edited or each.what}"
            scope = "" if each.scope == "once" else f" ({each.scope})"
            rule = f"{each.source}: {each.rule}" if each.rule else ""
            time = each.time[:19].replace("T", " ")
            rows.append((time, each.agent, what, each.severity, f"{each.outcome}{scope}", each.by, rule))
        return rows if len(rows) > 1 else [*rows, ("", "", "no decisions yet", "", "", "", "")]


def _short(row: Sequence[str]) -> list[str]:
    flat = (" ".join(cell.split()) for cell in row)
    return [cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…" for cell in flat]


def escaped_cell(cell: str) -> str:
    """Text for a cell of a Markdown table."""
    return harmless_line(cell).replace("|", "\\|")
