"""The plug-in: `agentnb.compare`, and checks of what a step did to tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.ports import Plugin

if TYPE_CHECKING:
    from agentnb.ports import StepComparison, ToolSession, TurnCheck


class _Tables:
    """Loads the comparison at its first use."""

    name = "checks"

    def comparison(self, *, is_fork: bool = False) -> StepComparison:
        """See :meth:`agentnb.ports.DataChecker.comparison`."""
        from agentnb.plugins.checks.steps import TurnTables

        return TurnTables(is_fork=is_fork)

    async def check(self, session: ToolSession, since: float) -> TurnCheck:
        """See :meth:`agentnb.ports.TurnChecker.check`."""
        from agentnb.plugins.checks.steps import check_tables

        del since
        return check_tables(session)


_TABLES = _Tables()
PLUGIN = Plugin(
    name="checks",
    summary="Checks what a step did to tables: duplicated rows after joins, lost groups, units, dates, leakage.",
    data_checkers=(_TABLES,),
    checkers=(_TABLES,),
)
