"""Data checks: possible errors in tables that a step changed, as Python shows them; and the plug-in that finds them."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from agentnb.credentials import logger
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from logging import Logger

    from agentnb.kernel.variables.watch import VariableWatch
    from agentnb.ports import DataChecker, StepComparison
    from agentnb.state import DataCheck

log: Logger = logger("agentnb.kernel")

UNREAD = "unread"  # the cause of a check that only reports why a table was not compared


class DataChecks(tuple["DataCheck", ...]):
    """Possible errors in tables after a step, each a :class:`agentnb.state.DataCheck`; a table when displayed.

    Example:
        >>> checks = agentnb.compare(before, after)  # doctest: +SKIP
        >>> assert checks.ok, checks  # doctest: +SKIP
    """

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """True if nothing was found; tables that were not compared do not count."""
        return all(each.cause == UNREAD for each in self)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line_of([*checks]) for _, checks in groupby(self, key=lambda each: each.table))

    def __str__(self) -> str:
        return "\n".join(self.lines) or "Nothing to check in the tables that changed."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{escape(str(self))}</p>"
        rows = "".join(
            f'<tr><th style="text-align: left">{escape(each.table)}</th><td>{escape(each.cause)}</td>'
            f'<td style="text-align: left">{escape(each.text)}</td></tr>'
            for each in self
        )
        return f"<table><tbody>{rows}</tbody></table>"


def line_of(checks: Sequence[DataCheck]) -> str:
    """The line on one table: its number of rows, if that changed, and what was found.

    Example:
        >>> from agentnb.state import DataCheck
        >>> line_of([DataCheck(table="t", cause="nulls", text="2 new nulls in `a`", rows_before=3, rows_after=3)])
        '`t`: 2 new nulls in `a`'
    """
    first = checks[0]
    before, after = first.rows_before, first.rows_after
    changed = before is not None and after is not None and before != after
    rows = f" rows {before:,} → {after:,}" if changed else ""
    return f"`{first.table}`{rows}: {'; '.join(each.text for each in checks)}"


def step_comparison(*, is_fork: bool = False) -> StepComparison | None:
    """The plug-in's comparison of tables between steps; None if no plug-in provides one."""
    checker: DataChecker | None = plugins().first("data_checkers")
    return None if checker is None else checker.comparison(is_fork=is_fork)


def compare_watched(
    watch: VariableWatch, comparison: StepComparison | None, variables: Callable[[], Mapping[str, Any]]
) -> None:
    """Have the tables compared with their state when the watched code begins, using what undo keeps of them."""
    if comparison is not None:
        watch.kept = lambda snapshot: _carefully(lambda: comparison.begin(variables(), snapshot.as_it_was))


def compared(
    comparison: StepComparison | None, variables: Mapping[str, Any], changed: Collection[str]
) -> tuple[DataCheck, ...] | None:
    """Possible problems in the tables named in *changed*; None if they were not compared."""
    return None if comparison is None else _carefully(lambda: comparison.end(variables, changed))


def _carefully(look: Callable[[], Any]) -> Any:
    """Call *look*; an error in it does not count as a failure of the code."""
    try:
        return look()
    except Exception:
        log.exception("The tables could not be compared")
        return None
