"""Matches the rows of a table with those of its earlier version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from agentnb.plugins.checks.tables import SAMPLE, combined, distinct_count, every

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.checks.tables import Array, Column, ReadTable, Rows

_NO_ROWS = np.array([], dtype="int64")
_EQUAL = 0.5
"""Share of equal values that another column must exceed for two tables to have the same rows."""


class Alignment(NamedTuple):
    """The rows that two tables have in common.

    Attributes:
        before: Their places in the earlier table.
        after: Their places in the later table.
        total: How many rows are aligned, even if only some of them are read.
        appended: The places of rows that only the later table has; None if that is not known.
        removed: The places of rows that only the earlier table has; None if that is not known.
    """

    before: Rows
    after: Rows
    total: int
    appended: Array | None = None
    removed: Array | None = None


class Pair(NamedTuple):
    """A column before and after, and the rows that are the same."""

    name: str
    before: Column
    after: Column
    rows: Alignment

    def parts(self, most: int | None = None) -> tuple[Rows, Rows]:
        """Returns the rows of both tables, at most *most* of them."""
        before, after, _, _, _ = self.rows
        if most is None:
            return before, after
        if isinstance(after, slice):
            rows = slice(0, after.stop, max(after.step or 1, -(-after.stop // most)))
            return rows, rows
        step = slice(0, None, max(1, -(-len(after) // most)))
        assert not isinstance(before, slice)  # noqa: S101 - both are places
        return before[step], after[step]


def align(before: ReadTable, after: ReadTable) -> Alignment | None:
    """Match the rows that both tables have; returns None if that is not known."""
    if not before.rows or not after.rows:
        return None
    if before.rows == after.rows and (_has_same_index(before, after) or _stands_the_same(before, after)):
        rows = every(after.rows)
        return Alignment(rows, rows, after.rows, _NO_ROWS, _NO_ROWS)
    return _by_pandas_index(before, after) or _by_key(before, after) or _by_place(before, after)


def _has_same_index(before: ReadTable, after: ReadTable) -> bool:
    one, other = before.pandas_index(), after.pandas_index()
    if one is None or other is None:
        return one is None and other is None and not _was_sorted(before, after)
    return bool(one is other or one.equals(other))


def _was_sorted(before: ReadTable, after: ReadTable) -> bool:
    """True if no column that both tables have begins the same, so the rows are in a different order."""
    rows = slice(0, min(100, before.rows))
    return not any(
        _share(before.columns[each], after.columns[each], rows, rows) > _EQUAL for each in _common(before, after)
    )


def _stands_the_same(before: ReadTable, after: ReadTable) -> bool:
    """True if most columns that both tables have agree row by row, whatever the labels of the rows."""
    rows = slice(0, before.rows, max(1, before.rows // 1_000))
    shares = [_share(before.columns[each], after.columns[each], rows, rows) for each in _common(before, after)]
    return bool(shares) and sum(each > 0.95 for each in shares) * 2 > len(shares)  # noqa: PLR2004 - but for some


def _common(before: ReadTable, after: ReadTable) -> list[str]:
    return [each for each in before.columns if each in after.columns]


def _share(one: Column, other: Column, rows: Rows, others: Rows) -> float:
    """Returns the share of values that are the same in two columns."""
    first, second = one.keys(rows), other.keys(others)
    return 0.0 if first is None or second is None or len(first) != len(second) else float((first == second).mean())


def _by_pandas_index(before: ReadTable, after: ReadTable) -> Alignment | None:
    """Align by the labels of rows, which a filter, a sort or an added row leaves as they are."""
    one, other = before.pandas_index(), after.pandas_index()
    if one is None or other is None or one.nlevels > 1 or other.nlevels > 1 or one.dtype != other.dtype:
        return None
    if _counts_rows(one) and (_counts_rows(other) or max(before.rows, after.rows) > SAMPLE):
        alignment = _by_numbers(before.rows, other)
    elif max(before.rows, after.rows) > SAMPLE or not one.is_unique:
        return None
    else:
        alignment = _by_labels(before.rows, one.get_indexer(other))
    if alignment is None or alignment.total * 2 < min(before.rows, after.rows):
        return None
    return alignment if _is_same(before, after, alignment) else None


def _by_labels(count: int, at: Array) -> Alignment:
    """Align by *at*, each row's place before, -1 if it is new; of rows with one place, the first is the same row."""
    known = np.flatnonzero(at >= 0)
    first = np.full(count, -1)
    first[at[known[::-1]]] = known[::-1]
    fits = np.sort(first[first >= 0])
    appended = np.setdiff1d(np.arange(len(at)), fits, assume_unique=True)
    step = every(len(fits))
    return Alignment(at[fits[step]], fits[step], len(fits), appended, np.flatnonzero(first < 0))


def _by_numbers(count: int, index: Any) -> Alignment | None:
    """Align rows whose labels were the numbers of *count* rows, which is quick for many rows."""
    if _counts_rows(index):
        both = min(count, len(index))
        some = np.arange(0, both, every(both).step)
        return Alignment(some, some, both, np.arange(both, len(index)), np.arange(both, count))
    labels = np.asarray(index)
    if labels.dtype.kind not in "iu" or not len(labels) or labels.min() < 0 or labels.max() >= count:
        return None
    step = every(len(labels))
    some = np.arange(0, len(labels), step.step)
    if len(labels) == count:  # the rows were sorted or shuffled
        return Alignment(labels[step], some, count, _NO_ROWS, _NO_ROWS)
    kept = np.zeros(count, dtype=bool)
    kept[labels] = True
    removed = np.flatnonzero(~kept)
    is_distinct = len(removed) + len(labels) == count
    return Alignment(labels[step], some, len(labels), _NO_ROWS, removed) if is_distinct else None


def _counts_rows(index: Any) -> bool:
    """True if the labels count the rows from 0."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _is_same(before: ReadTable, after: ReadTable, alignment: Alignment, but: str = "") -> bool:
    """True if rows that are taken for the same agree in some column, or if there is no column to compare."""
    step = slice(0, None, max(1, alignment.total // 1_000))
    rows = alignment.before[step] if not isinstance(alignment.before, slice) else alignment.before
    others = alignment.after[step] if not isinstance(alignment.after, slice) else alignment.after
    common = [each for each in _common(before, after) if each != but]
    return not common or any(
        _share(before.columns[each], after.columns[each], rows, others) > _EQUAL for each in common
    )


def _by_key(before: ReadTable, after: ReadTable) -> Alignment | None:
    """Align by a column whose values identify each row."""
    names = [
        each
        for each in before.everything
        if each in after.everything
        and before.everything[each].kind in {"integer", "text", "time"}
        and before.everything[each].kind == after.everything[each].kind
        and before.is_unique(each)
        and after.is_unique(each)
    ]
    for name in names:
        rows, others = before.exact_rows(before.everything[name]), after.exact_rows(after.everything[name])
        ours, theirs = before.everything[name].keys(rows), after.everything[name].keys(others)
        if ours is None or theirs is None:
            continue
        _, at, to = np.intersect1d(ours, theirs, assume_unique=True, return_indices=True)
        if len(at) * 2 < min(len(ours), len(theirs)):
            continue
        is_whole = rows.stop == before.rows and others.stop == after.rows
        appended = np.setdiff1d(np.arange(after.rows), to) if is_whole else None
        removed = np.setdiff1d(np.arange(before.rows), at) if is_whole else None
        some = np.argsort(to)[every(len(to))]
        alignment = Alignment(at[some], to[some], len(at), appended, removed)
        if _is_same(before, after, alignment, but=name):
            return alignment
    return None


def _by_place(before: ReadTable, after: ReadTable) -> Alignment | None:
    """Align by position: the same rows at the beginning, or at the end, and others appended."""
    if after.rows <= before.rows:
        return _by_contents(before, after) if after.rows < before.rows else None
    common = _common(before, after)
    rows = slice(0, before.rows, max(1, before.rows // 1_000))
    for offset in (0, after.rows - before.rows):
        places = np.arange(rows.start, rows.stop, rows.step)
        shares = [_share(before.columns[each], after.columns[each], places, places + offset) for each in common]
        if shares and max(shares) > 0.95 and sum(each > _EQUAL for each in shares) * 2 > len(shares):  # noqa: PLR2004
            step = every(before.rows)
            some = np.arange(step.start, step.stop, step.step)
            begin, end = (before.rows, after.rows) if offset == 0 else (0, offset)
            return Alignment(some, some + offset, before.rows, np.arange(begin, end), _NO_ROWS)
    return None


def _by_contents(before: ReadTable, after: ReadTable) -> Alignment | None:
    """Align by contents: some rows of the table before."""
    common = [each for each in _common(before, after) if before.columns[each].kind not in {"other", "mixed"}]
    if not common or before.rows > SAMPLE:
        return None
    ours, theirs = (row_keys(each, common, slice(0, each.rows)) for each in (before, after))
    if ours is None or theirs is None or distinct_count(ours) < len(ours) or not np.isin(theirs, ours).all():
        return None
    order = np.argsort(ours)
    at = order[np.searchsorted(ours, theirs, sorter=order)]
    removed = np.setdiff1d(np.arange(before.rows), at)
    return Alignment(at, np.arange(after.rows), after.rows, _NO_ROWS, removed)


def row_keys(table: ReadTable, names: Sequence[str], rows: Rows) -> Array | None:
    """Returns a number per row, equal for rows with equal values in *names*; None if that cannot be known."""
    parts = []
    for each in names:
        keys = table.everything[each].keys(rows)
        if keys is None:
            if table.everything[each].kind in {"other", "mixed"}:
                continue
            return None
        parts.append(keys)
    return combined(parts)
