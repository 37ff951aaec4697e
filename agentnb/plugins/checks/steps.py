"""The tables before and after the steps of one turn (:class:`agentnb.ports.StepComparison`)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.frames import copies_on_write
from agentnb.memory import available_memory
from agentnb.plugins.checks.comparison import MOST_TABLES, compare_tables, without_repeats
from agentnb.plugins.checks.tables import is_table, table_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentnb.plugins.checks.tables import Table
    from agentnb.state import DataCheck

LARGEST_COPY = 8 * 1024 * 1024
"""Bytes of a table that is copied, where its library has no cheap copy that later changes leave alone."""
MOST_COPIED = 32 * 1024 * 1024
"""Bytes that are copied for one step."""


class TurnTables:
    """Compares each table with how it was before the turn first changed it."""

    def __init__(self) -> None:
        self._before: dict[str, Any] = {}
        self._first: dict[str, Any] = {}
        self._checks: dict[str, tuple[DataCheck, ...]] = {}

    def begin(self, variables: Mapping[str, Any]) -> None:
        """See :meth:`agentnb.ports.StepComparison.begin`."""
        room = MOST_COPIED
        kept: dict[str, Any] = {}
        for name in [each for each, value in variables.items() if is_table(value)][-MOST_TABLES:]:
            kept[name] = variables[name]
            with contextlib.suppress(Exception):  # another thread writes to it
                kept[name], used = _kept(variables[name], room)
                room -= used
        self._before = kept

    def end(self, variables: Mapping[str, Any], changed: Collection[str]) -> tuple[DataCheck, ...]:
        """See :meth:`agentnb.ports.StepComparison.end`."""
        for name in changed:
            self._first.setdefault(name, self._before.get(name))
            self._checks.pop(name, None)
        named = [each for each in changed if is_table(variables.get(each))]
        if named:
            before = _tables({**self._before, **{name: each for name, each in self._first.items() if name in changed}})
            recent = [each for each, value in variables.items() if is_table(value)][-MOST_TABLES:]
            after = _tables({each: variables[each] for each in {*recent, *named}})
            for check in compare_tables(before, after, named):
                self._checks[check.table] = (*self._checks.get(check.table, ()), check)
        self._before = {}
        return without_repeats([check for checks in self._checks.values() for check in checks])


def _tables(values: Mapping[str, Any]) -> dict[str, Table]:
    read = {name: table_of(value, name) for name, value in values.items() if value is not None}
    return {name: table for name, table in read.items() if table is not None}


def _kept(value: Any, room: int) -> tuple[Any, int]:
    """*value* as it is now, whatever is written to it later, and how many bytes that took; itself where it is large."""
    module = type(value).__module__.partition(".")[0]
    if module == "polars":
        return value.clone(), 0
    if module in {"numpy", "pandas"}:
        size = int(value.nbytes if module == "numpy" else value.memory_usage(deep=False, index=False).sum())
        if module == "pandas" and copies_on_write():
            return (value.copy(deep=False) if _has_room(size) else value), 0
        if size <= min(LARGEST_COPY, room):
            return value.copy(), size
    return value, 0


def _has_room(size: int) -> bool:
    """True if code that writes to a table of *size* bytes may copy it: it does where the table is held here, too."""
    free = available_memory()
    return free is None or size <= free // 2
