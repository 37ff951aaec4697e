"""The table of ``%agents policy``: the rules in force, and the last decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.api.columns import lines
from agentnb.ipython.markdown import harmless_line
from agentnb.policy.keys import FILE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentnb.api.policy import Policy

_ALWAYS = "critical commands, sensitive files, what leads out of the workspace, what cannot be read"
_WIDEST = 80


def _confined(item: tuple[str, Any]) -> str:
    agent, said = item
    if isinstance(said, bool):
        return agent if said else f"not {agent}"
    return f"{agent} ({said if isinstance(said, str) else ', '.join(said)})"


class PolicyTable:
    """The policy; two tables when displayed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def __repr__(self) -> str:
        return "\n".join((*self._facts(), "", *_text(self._rules()), "", *_text(self._decisions())))

    def _repr_markdown_(self) -> str:
        facts = [f"- {_escaped(fact)}" for fact in self._facts()]
        return "\n".join((*facts, "", *_table(self._rules()), "", *_table(self._decisions())))

    def _facts(self) -> list[str]:
        held = self.policy
        facts = [f"Warning: {warning}" for warning in held.warnings]
        facts += [f"This session has permissions={held.mode!r}."] if held.mode is not None else []
        facts += [f"Need not ask: {', '.join(held.bypass)}."] if held.bypass else []
        facts += [f"Confined: {', '.join(found)}."] if (found := [*map(_confined, held.confine.items())]) else []
        facts.append(self._trust())
        facts.append(f"Always asks: {_ALWAYS}.")
        facts += [key.facts[getattr(held, key.name)] for key in reversed(FILE_KEYS)]
        facts.append(f"Yours: {held.user_file}. The project's: {held.project_file}. The log: {held.log_file}.")
        return facts

    def _trust(self) -> str:
        held = self.policy
        if held.trusted:
            return f"{held.folder} is trusted: what your file allows counts here."
        others = f" (Trusted: {', '.join(held.trusted_folders)}.)" if held.trusted_folders else ""
        return f"{held.folder} is not trusted: what your file allows asks here. `%agents trust` trusts it.{others}"

    def _rules(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("from", "rule", "where")]
        rows += [(each.source, each.rule.text, each.where or "answered on a card") for each in self.policy.rules]
        rows += [
            ("settings", f"{'sensitive' if is_ else 'not sensitive'} {pattern}", "[sensitive]")
            for pattern, is_ in self.policy.sensitive
        ]
        if len(rows) == 1:
            rows.append(("default", "reading in the workspace is allowed, all else as the session's mode says", ""))
        return rows

    def _decisions(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("when", "agent", "what", "severity", "outcome", "by", "rule")]
        for each in self.policy.records:
            what = f"{each.tool} {each.edited or each.what}"
            scope = "" if each.scope == "once" else f" ({each.scope})"
            rule = f"{each.source}: {each.rule}" if each.rule else ""
            time = each.time[:19].replace("T", " ")
            rows.append((time, each.agent, what, each.severity, f"{each.outcome}{scope}", each.by, rule))
        return rows if len(rows) > 1 else [*rows, ("", "", "nothing was decided yet", "", "", "", "")]


def _text(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    return lines([tuple(_short(cell) for cell in row) for row in rows])


def _table(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    for number, row in enumerate(rows):
        yield "| " + " | ".join(_escaped(_short(cell)) for cell in row) + " |"
        if number == 0:
            yield "|" + " --- |" * len(row)


def _short(cell: str) -> str:
    flat = " ".join(cell.split())
    return flat if len(flat) <= _WIDEST else f"{flat[: _WIDEST - 1]}…"


def _escaped(cell: str) -> str:
    return harmless_line(cell).replace("|", "\\|")
