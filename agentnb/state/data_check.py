"""What may be wrong with a table that a step changed."""

from __future__ import annotations

from agentnb.state.wire import Wire


class DataCheck(Wire, frozen=True, kw_only=True):
    """Ours: something about a table that a step changed and that may be a mistake.

    Args:
        table: The table's name.
        cause: ``"fan-out"``, ``"duplicates"``, ``"leakage"``, ``"unit"``, ``"type"``, ``"nulls"``, ``"groups"``,
            ``"dates"``, ``"index"`` or ``"order"``; ``"unread"``: it says only why the table was not compared.
        text: It in a few words; names of tables and columns stand between backticks.
        count: How many rows, keys or groups it is about; 0 where it is about the whole.
        columns: The columns that it is about.
        others: The other tables that it is about.
        rows_before: How many rows the table had; None where there was none.
        rows_after: How many it has.
        is_sampled: Whether only a part of the rows was read, evenly spaced.
        show: Python code that gives the rows; empty where there are none to show.
        assertion: Python code that fails where it is so.
        question: A prompt for an agent: it mentions the tables, and has no number or value of theirs.
    """

    table: str
    cause: str
    text: str
    count: int = 0
    columns: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    rows_before: int | None = None
    rows_after: int | None = None
    is_sampled: bool = False
    show: str = ""
    assertion: str = ""
    question: str = ""
