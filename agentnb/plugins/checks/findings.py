"""Puts together what was found about one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.plugins.checks.snippets import NONE, CheckSnippet
from agentnb.state import DataCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.checks.tables import ReadTable


_MOST_NAMES = 2
_TASKS = {
    "fan-out": "{table}: a join repeats rows, because {columns} is not unique in {others}",
    "duplicates": "{table}: rows occur more than once",
    "leakage": "{others}: they have rows or values in common, but should not",
    "unit": "{table}: {columns} is in another unit than before",
    "type": "{table}: {columns} has another type, or lost some of its values",
    "nulls": "{table}: values of {columns} are missing",
    "groups": "{table}: groups of {columns} are lost",
    "dates": "{table}: {columns} shifted, or a period is missing a day",
    "index": "{table}: the index is no longer unique",
    "order": "{table}: rows are no longer in the order of {columns}",
}


class Findings:
    """Collects the findings about one table that a step changed.

    Attributes:
        before: The table before the step; None if there was none.
        after: The table after the step.
    """

    def __init__(self, before: ReadTable | None, after: ReadTable) -> None:
        self.before = before
        self.after = after
        self.checks: list[DataCheck] = []

    def add(
        self,
        cause: str,
        text: str,
        *,
        count: int = 0,
        columns: Sequence[str] = (),
        others: Sequence[str] = (),
        code: CheckSnippet = NONE,
        is_sampled: bool = False,
    ) -> None:
        """Add a finding, unless there is one of the same cause about the same columns."""
        if any(each.cause == cause and each.columns == tuple(columns) for each in self.checks):
            return
        self.checks.append(
            DataCheck(
                table=self.after.name,
                cause=cause,
                text=text,
                count=count,
                columns=tuple(columns),
                others=tuple(others),
                rows_before=None if self.before is None else self.before.rows,
                rows_after=self.after.rows,
                is_sampled=is_sampled,
                show=code.show,
                question=_question(cause, self.after.name, columns, others),
                assertion=code.assertion and f"{code.assertion}, {text.replace('`', '')!r}",
            )
        )

    def has(self, cause: str) -> bool:
        return any(each.cause == cause for each in self.checks)


def sentence_of(cause: str, table: str, columns: Sequence[str], others: Sequence[str]) -> str:
    """Returns what may be wrong, by names and cause, without any number or value of the tables."""
    names = {"columns": quoted(columns) or "a column", "others": quoted(others) or "another table"}
    return _TASKS[cause].format(table=quoted([table]), **names)


def _question(cause: str, table: str, columns: Sequence[str], others: Sequence[str]) -> str:
    mentions = " and ".join(f"@{each}" for each in dict.fromkeys((table, *others)) if each.isidentifier())
    sentence = sentence_of(cause, table, columns, others)
    return f"Look at {mentions or 'the table'}. {sentence}. Is that meant? If not, mend it."


def counted(number: int, one: str) -> str:
    """Returns a number with its word.

    Example:
        >>> counted(1, "row"), counted(1200, "row")
        ('1 row', '1,200 rows')
    """
    return f"{number:,} {one if number == 1 else f'{one}s'}"


def quoted(names: Sequence[str]) -> str:
    """Returns names between backticks, only the first ones of many.

    Example:
        >>> quoted(["a", "b", "c"])
        '`a`, `b` and 1 more'
    """
    text = ", ".join(f"`{_plain(each)}`" for each in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{text} and {more} more" if more > 0 else text


def _plain(name: str) -> str:
    text = " ".join(name.replace("`", "'").split())
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - as much as fits a line
