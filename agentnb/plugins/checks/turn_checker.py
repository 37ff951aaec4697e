"""Data checks as a condition of verified turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.kernel.data_checks import UNREAD
from agentnb.plugins.checks.findings import sentence_of
from agentnb.ports import TurnCheck

if TYPE_CHECKING:
    from agentnb.ports import ToolSession
    from agentnb.state import DataCheck


class TablesChecker:
    """Gives the agent what data checks found, where the setting ``data_checks`` is ``required``."""

    name = "checks"

    async def check(self, session: ToolSession, since: float) -> TurnCheck:
        """See :meth:`agentnb.ports.TurnChecker.check`."""
        del since
        if session.host is None or session.setting("data_checks") != "required":
            return TurnCheck(passed=True)
        conversation = session.host.find(session.session)
        turn, kernel = conversation.chat.state.active_turn, conversation.changes.kernel
        found = () if turn is None or kernel is None else kernel.data_checks(turn.id)
        checks = tuple(each for each in found if each.cause != UNREAD)
        if not checks:
            return TurnCheck(passed=True)
        return TurnCheck(
            passed=False, summary=f"Data checks: {'; '.join(map(_line, checks))}.", task=task_for_agent(checks)
        )


def _line(check: DataCheck) -> str:
    return f"`{check.table}`: {check.text}"


def task_for_agent(checks: tuple[DataCheck, ...]) -> str:
    """What was found, for the agent: names and causes. No number or value of the user's data is in it."""
    rows = [f"- {sentence_of(each.cause, each.table, each.columns, each.others)}" for each in checks]
    first = "The tables that you changed were compared with how they were before. What may be wrong:"
    last = "Mend what is not meant; say why for what is. Then end your turn."
    return "\n".join([first, *dict.fromkeys(rows), last])
