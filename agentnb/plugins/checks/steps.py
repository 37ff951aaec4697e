"""The tables before and after the steps of one turn (:class:`agentnb.ports.StepComparison`)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from agentnb.kernel.data_checks import UNREAD
from agentnb.plugins.checks.comparison import MOST_TABLES, compare_tables, without_repeats
from agentnb.plugins.checks.findings import sentence_of
from agentnb.plugins.checks.reading import is_lazy, is_table, table_of
from agentnb.plugins.checks.unread import NO_ROOM, compare_lazy, unread, why_unread
from agentnb.ports import TurnCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from agentnb.plugins.checks.tables import ReadTable
    from agentnb.ports import ToolSession
    from agentnb.state import DataCheck


_NOT_KEPT = object()


class TurnTables:
    """Compares each table with how it was before the turn first changed it.

    In a copy of the process (*is_fork*) polars cannot calculate.
    """

    def __init__(self, *, is_fork: bool = False) -> None:
        self._is_fork = is_fork
        self._before: dict[str, Any] = {}
        self._first: dict[str, Any] = {}
        self._checks: dict[str, tuple[DataCheck, ...]] = {}

    def begin(self, variables: Mapping[str, Any], as_it_is: Callable[[Any], Any]) -> None:
        """See :meth:`agentnb.ports.StepComparison.begin`."""
        self._before = {}
        for name in [each for each, value in variables.items() if is_table(value) or is_lazy(value)][-MOST_TABLES:]:
            with contextlib.suppress(Exception):  # another thread may be writing to the table
                kept = as_it_is(variables[name])
                self._before[name] = _NOT_KEPT if kept is None else kept

    def end(self, variables: Mapping[str, Any], changed: Collection[str]) -> tuple[DataCheck, ...]:
        """See :meth:`agentnb.ports.StepComparison.end`."""
        for name in changed:
            self._first.setdefault(name, self._before.get(name))
            self._checks.pop(name, None)
        named = [each for each in changed if is_table(variables.get(each))]
        for name in changed:
            if is_lazy(variables.get(name)):
                self._checks[name] = tuple(self._lazy(name, variables[name]))
        if named:
            before = self._tables({**self._before, **{each: self._first[each] for each in changed}})
            recent = [each for each, value in variables.items() if is_table(value)][-MOST_TABLES:]
            after = self._tables({each: variables[each] for each in {*recent, *named}})
            for check in (*compare_tables(before, after, named), *self._unread(variables, named, after)):
                self._checks[check.table] = (*self._checks.get(check.table, ()), check)
        self._before = {}
        return without_repeats([check for checks in self._checks.values() for check in checks])

    def _lazy(self, name: str, after: Any) -> Iterator[DataCheck]:
        before = self._first[name]
        if before is _NOT_KEPT:
            yield unread(name, NO_ROOM)
        elif why := why_unread(before, after, is_read=False, is_fork=self._is_fork):
            yield unread(name, why)
        else:
            yield from compare_lazy(name, before, after)

    def _unread(
        self, variables: Mapping[str, Any], named: Collection[str], after: Mapping[str, ReadTable]
    ) -> Iterator[DataCheck]:
        for name in named:
            before = self._first[name]
            why = why_unread(before, variables[name], is_read=name in after, is_fork=self._is_fork)
            if why or before is _NOT_KEPT:
                yield unread(name, why or NO_ROOM)

    def _tables(self, values: Mapping[str, Any]) -> dict[str, ReadTable]:
        read = {name: table_of(value, name, is_fork=self._is_fork) for name, value in values.items()}
        return {name: table for name, table in read.items() if table is not None}


def check_tables(session: ToolSession) -> TurnCheck:
    """Returns for the agent what data checks found, where the setting ``data_checks`` is ``required``."""
    if session.host is None or session.setting("data_checks") != "required":
        return TurnCheck(passed=True)
    conversation = session.host.find(session.session)
    turn, kernel = conversation.chat.state.active_turn, conversation.changes.kernel
    data_checks = () if turn is None or kernel is None else kernel.data_checks(turn.id)
    checks = tuple(each for each in data_checks if each.cause != UNREAD)
    if not checks:
        return TurnCheck(passed=True)
    lines = "; ".join(f"`{each.table}`: {each.text}" for each in checks)
    return TurnCheck(passed=False, summary=f"Data checks: {lines}.", task=task_for_agent(checks))


def task_for_agent(checks: tuple[DataCheck, ...]) -> str:
    """Describe the findings for the agent by names and causes, without any number or value of the user's data."""
    rows = [f"- {sentence_of(each.cause, each.table, each.columns, each.others)}" for each in checks]
    first = "The tables that you changed were compared with how they were before. What may be wrong:"
    last = "Mend what is not meant; say why for what is. Then end your turn."
    return "\n".join([first, *dict.fromkeys(rows), last])
