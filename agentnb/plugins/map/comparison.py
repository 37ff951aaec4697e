"""Several agents' answers to the same inputs, side by side."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

from agentnb.api.columns import html, lines, on_one_line
from agentnb.errors import UsageError
from agentnb.plugins.map.runner import money

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from agentnb.plugins.map.batch import Batch

_LISTED = 20
_WIDEST = 50


class Comparison:
    """Batches of the same inputs, by agent.

    Args:
        batches: The batches, by the agent's name.

    Attributes:
        batches: As given.
    """

    def __init__(self, batches: Mapping[str, Batch]) -> None:
        self.batches: dict[str, Batch[Any]] = dict(batches)

    def wait(self, timeout: float | None = None) -> Self:
        """Block until all have ended.

        Args:
            timeout: Seconds for each; None waits forever.

        Raises:
            TimeoutError: If one has not ended in time.
        """
        for each in self.batches.values():
            each.wait(timeout, check=False)
        return self

    def cancel(self) -> None:
        """Cancel all batches."""
        for each in self.batches.values():
            each.cancel()

    @property
    def agreement(self) -> dict[tuple[str, str], float]:
        """For each two agents, the part of the inputs that both answered in which they said the same; waits for all."""
        self.wait()
        answers = {name: self._answers(name) for name in self.batches}
        return {pair: _same(answers[pair[0]], answers[pair[1]]) for pair in combinations(answers, 2)}

    @property
    def majority(self) -> list[Any]:
        """For each input the answer that most agents gave, the first of them where there is none; waits for all."""
        self.wait()
        columns = [self._answers(name) for name in self.batches]
        length = max((max(each, default=-1) for each in columns), default=-1) + 1
        return [_most(each[number] for each in columns if number in each) for number in range(length)]

    def to_frame(self) -> Any:
        """Returns a pandas data frame, a row for each input and a column for each agent; waits for all answers.

        Raises:
            UsageError: If pandas is not installed.
        """
        self.wait()
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("A data frame needs pandas.", hint="%pip install pandas.") from error
        labels = {row.number: row.label for each in self.batches.values() for row in each.results}
        answers = {name: self._answers(name) for name in self.batches}
        numbers = sorted(labels)
        return pd.DataFrame(
            {name: [column.get(number) for number in numbers] for name, column in answers.items()},
            index=[labels[number] for number in numbers],
        )

    def __repr__(self) -> str:
        return "\n".join([*lines(self._table()), "", *lines(self._sums())])

    def _repr_html_(self) -> str:
        return "".join(html(head, rows) for head, *rows in (self._table(), self._sums()))

    def _answers(self, name: str) -> dict[int, Any]:
        done = (row for row in self.batches[name].results if row.state == "done")
        return {row.number: row.text if row.output is None else row.output for row in done}

    def _table(self) -> list[tuple[str, ...]]:
        cells: dict[int, dict[str, str]] = {}
        labels: dict[int, str] = {}
        for name, batch in self.batches.items():
            for row in batch.results:
                if row.number >= _LISTED:
                    break
                answer = row.error or (row.text if row.output is None else repr(row.output))
                cells.setdefault(row.number, {})[name] = on_one_line(answer)[:_WIDEST]
                labels[row.number] = on_one_line(str(row.label))[:_WIDEST]
        rows = [(labels[number], *(cells[number].get(name, "") for name in self.batches)) for number in sorted(cells)]
        return [("input", *self.batches), *rows]

    def _sums(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("agent", "done", "failed", "seconds", "cost")]
        for name, batch in self.batches.items():
            counts, spent = batch.counts, batch.usage
            seconds = sum(row.seconds for row in batch.results)
            rows.append((name, str(counts["done"]), str(counts["failed"]), f"{seconds:.1f}", money(spent["costs"])))
        if all(each.done for each in self.batches.values()):
            rows += [(f"{a} = {b}", f"{part:.0%}", "", "", "") for (a, b), part in self.agreement.items()]
        return rows


def _same(one: Mapping[int, Any], other: Mapping[int, Any]) -> float:
    both = one.keys() & other.keys()
    return sum(_plain(one[each]) == _plain(other[each]) for each in both) / len(both) if both else 0.0


def _most(answers: Any) -> Any:
    texts = list(answers)
    if not texts:
        return None
    counted = Counter(repr(_plain(each)) for each in texts)
    best = counted.most_common(1)[0][0]
    return next(each for each in texts if repr(_plain(each)) == best)


def _plain(answer: Any) -> Any:
    """Returns *answer*; a text is normalized, so that case, spaces and a final full stop do not count."""
    return " ".join(answer.split()).casefold().rstrip(".") if isinstance(answer, str) else answer
