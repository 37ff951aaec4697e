"""Checks joins: detects them, and whether duplicate or missing keys changed the number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from agentnb.plugins.checks.findings import counted, quoted
from agentnb.plugins.checks.snippets import NONE, missing, repeated, unmatched
from agentnb.plugins.checks.tables import SAMPLE, combined, distinct_count, may_be_among, rows_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentnb.plugins.checks.findings import Findings
    from agentnb.plugins.checks.tables import Array, ReadTable, Rows

_SUFFIXES = ("_x", "_y", "_left", "_right")
_MOST_KEYS = 1_000_000
"""Keys of a table that are counted if rows were repeated."""
_PROBED = 500
"""Rows that are sampled to recognize a join."""


@dataclass
class Join:
    """A join: *result* has the rows of *left* and columns of *right*.

    Attributes:
        left_on: The key columns of the left table.
        right_on: The key columns of the right table.
        matches: How many rows of the right table match each row of the left one.
        repeated_keys: How many keys of the left table occur more than once in the right one.
        right_distinct: How many different keys the right table has.
        share: The part of the left table's rows that was read.
    """

    result: ReadTable
    left: ReadTable
    right: ReadTable
    left_on: tuple[str, ...]
    right_on: tuple[str, ...]
    left_keys: Array
    matches: Array
    repeated_keys: int
    right_distinct: int
    share: float

    @property
    def inner_rows(self) -> int:
        return round(int(self.matches.sum()) / self.share)

    @property
    def left_rows(self) -> int:
        return round(int(self.matches.clip(1).sum()) / self.share)

    @property
    def unmatched(self) -> int:
        """Returns how many rows of the left table have no match."""
        return round(int((self.matches == 0).sum()) / self.share)

    @property
    def unmatched_keys(self) -> int:
        """Returns how many keys of the left table have no match."""
        return distinct_count(self.left_keys[self.matches == 0])

    def fits(self, rows: int) -> bool:
        """True if the result has *rows* rows; about so many, if tables were sampled."""
        return abs(self.result.rows - rows) <= (0 if self.share == 1 else 0.02 * rows)


def find_joins(result: ReadTable, tables: Sequence[ReadTable], first: ReadTable | None) -> list[Join]:
    """Returns the joins that *result* is: of *first* with others if that fits, else of another; empty if it is none."""
    near = [each for each in tables if _from(result, each)]
    near.sort(key=lambda each: (each is not first, -_share_in(result, each), -each.rows))
    for left in near:
        joins = [join for right in near if (join := _joined(result, left, right)) is not None]
        if joins:
            return joins
    return []


def _joined(result: ReadTable, left: ReadTable, right: ReadTable) -> Join | None:
    """Returns the join of two tables, or of one with itself; None if *result* does not come from both."""
    if left is right and not any(each.endswith(_SUFFIXES) for each in result.columns):
        return None
    if len(_from(result, left) | _from(result, right)) * 2 < len(result.columns):
        return None
    shared = tuple(each for each in left.everything if each in right.everything and each in result.everything)
    for left_on, right_on in _possible_keys(result, left, right, shared):
        if _is_join(result, left, right, left_on, right_on):
            join = _counted(result, left, right, left_on, right_on)
            if join is None or not shared or left_on == shared:
                return join
            if join.fits(join.inner_rows) or join.fits(join.left_rows):
                return join
    return None


def _from(result: ReadTable, table: ReadTable) -> set[str]:
    """Returns the columns of *result* that *table* has too, perhaps without the suffix that a join adds."""
    return {each for each in result.columns if each in table.everything or _base(each) in table.columns}


def _share_in(result: ReadTable, table: ReadTable) -> float:
    """Returns the share of a table's columns that *result* has."""
    bases = {*result.columns, *map(_base, result.columns)}
    return round(len(bases & {*table.columns}) / max(1, len(table.columns)), 1)


def _base(name: str) -> str:
    return next((name.removesuffix(each) for each in _SUFFIXES if name.endswith(each)), name)


def _possible_keys(
    result: ReadTable, left: ReadTable, right: ReadTable, shared: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yields the columns that all three have, then each of them, since a key can be forgotten; else two of one type."""
    own = [each for each in right.columns if each in result.columns and each not in left.columns]
    suffixed = [each for each in result.columns if each.endswith(_SUFFIXES) and _base(each) in right.columns]
    if not own and not suffixed:
        return
    if left is not right and not any(each not in right.columns for each in _from(result, left)):
        return  # no column comes only from the left table
    if shared:
        yield shared, shared
        if len(shared) > 1:
            yield from (((each,), (each,)) for each in shared)
        return
    for name in left.columns:
        for other in right.everything:
            kinds = left.everything[name].kind, right.everything[other].kind
            if kinds[0] == kinds[1] and kinds[0] in {"integer", "text", "time"} and name in result.columns:
                yield (name,), (other,)


def _is_join(
    result: ReadTable, left: ReadTable, right: ReadTable, left_on: tuple[str, ...], right_on: tuple[str, ...]
) -> bool:
    """True if rows of *result* have the right table's values for their keys."""
    named = next((each for each in right.columns if each in result.columns and each not in left.columns), None)
    value = named
    if named is None:
        named = next(each for each in result.columns if each.endswith(_SUFFIXES) and _base(each) in right.columns)
        value = _base(named)
    if value is None or any(each not in result.everything for each in left_on):
        return False
    rows = slice(0, result.rows, max(1, result.rows // _PROBED))
    probe = _keys_of(result, left_on, rows)
    pairs = _keys_of(result, (*left_on, named), rows)
    wanted = _keys(right, right_on)
    if probe is None or pairs is None or wanted is None or not len(probe):
        return False
    near = np.flatnonzero(may_be_among(wanted, probe))
    known = _keys_of(right, (*right_on, value), near)
    has_key = np.isin(probe, wanted[near])
    if known is None or not has_key.any():
        return False
    return bool(np.isin(pairs[has_key], known).mean() > 0.9)  # noqa: PLR2004 - a later step may have filled some


def _keys_of(table: ReadTable, names: Sequence[str], rows: Rows) -> Array | None:
    parts = [table.everything[each].keys(rows) for each in names]
    return None if any(each is None for each in parts) else combined([each for each in parts if each is not None])


def _keys(table: ReadTable, names: Sequence[str]) -> Array | None:
    """Returns the keys of all rows; None if there are too many to read."""
    if table.rows > SAMPLE and any(table.everything[each].kind == "text" for each in names):
        return None
    return _keys_of(table, names, slice(0, table.rows))


def _counted(
    result: ReadTable, left: ReadTable, right: ReadTable, left_on: tuple[str, ...], right_on: tuple[str, ...]
) -> Join | None:
    rows = rows_for(left, left_on)
    ours, theirs = _keys_of(left, left_on, rows), _keys(right, right_on)
    if ours is None or theirs is None or not len(ours):
        return None
    if left.library == "polars":
        theirs = theirs[theirs != 0]  # in polars, null keys match nothing
    if len(theirs) > (_MOST_KEYS if result.rows > left.rows else SAMPLE):
        theirs = theirs[may_be_among(theirs, ours)]
    distinct, counts = np.unique(theirs, return_counts=True)
    if not len(distinct):
        return None
    at = np.minimum(np.searchsorted(distinct, ours), len(distinct) - 1)
    matches = np.where(distinct[at] == ours, counts[at], 0)
    is_sampled = len(ours) < left.rows
    used = int((counts > 1).sum()) if is_sampled else distinct_count(at[matches > 1])
    return Join(
        result=result,
        left=left,
        right=right,
        left_on=left_on,
        right_on=right_on,
        left_keys=ours,
        matches=matches,
        repeated_keys=used,
        right_distinct=len(distinct),
        share=len(ours) / left.rows,
    )


def check_total(findings: Findings, tables: Sequence[ReadTable]) -> None:
    """Report group sums that equal those of rows as often as an earlier join has repeated or dropped each."""
    after = findings.after
    keys = {*after.index} or {*[*after.columns][:1]}
    for table in tables:
        if table.rows > SAMPLE or table.rows <= after.rows:
            continue
        for name in (each for each in after.columns if each in table.columns and each not in keys):
            if {after.columns[name].kind, table.columns[name].kind} - {"integer", "number"}:
                continue
            values = np.nan_to_num(table.columns[name].numbers(slice(0, table.rows)))
            total = float(np.nansum(after.columns[name].numbers(slice(0, after.rows))))
            exact = 1e-9 * float(np.abs(values).sum())
            if abs(total) <= exact or abs(total - values.sum()) <= exact:
                continue  # a zero or an unchanged sum is no evidence
            for join in _joins_before(after, table, tables, {*keys}, name):
                if abs(total - float((values * join.matches).sum())) <= exact:
                    _tell_total(findings, join, name)
                    return


def _joins_before(
    after: ReadTable, table: ReadTable, tables: Sequence[ReadTable], keys: set[str], summed: str
) -> Iterator[Join]:
    """Yields the joins of *table* with another table that can have the groups *keys*."""
    for other in tables:
        both = tuple(each for each in table.columns if each in other.columns and each != summed)
        if other is table or not both or not keys <= {*table.everything, *other.everything}:
            continue
        join = _counted(after, table, other, both, both)
        if join is not None:
            yield join


def _tell_total(findings: Findings, join: Join, name: str) -> None:
    left, right = join.left.name, join.right.name
    columns, others = (*join.right_on, name), (left, right)
    if join.repeated_keys:
        text = f"sums of `{name}` count rows of `{left}` more than once: {_not_unique(join)}"
        code = repeated(join.right, join.right_on)
        findings.add("fan-out", text, count=join.repeated_keys, columns=columns, others=others, code=code)
    elif join.unmatched:
        text = f"{counted(join.unmatched_keys, 'group')} lost in sums of `{name}`: {_without_partner(join)}"
        findings.add("groups", text, count=join.unmatched_keys, columns=columns, others=others)


def _not_unique(join: Join) -> str:
    return f"{quoted(join.right_on)} is not unique in `{join.right.name}` ({counted(join.repeated_keys, 'key')})"


def _without_partner(join: Join) -> str:
    return f"{quoted(join.left_on)} of {counted(join.unmatched, 'row')} is not in `{join.right.name}`"


def check_join(findings: Findings, join: Join) -> None:
    """Report keys that occur more than once, and keys that are missing."""
    if join.result.rows > join.left.rows and join.repeated_keys and _is_fan_out(findings, join):
        findings.add(
            "fan-out",
            _not_unique(join),
            count=join.repeated_keys,
            columns=join.right_on,
            others=(join.right.name,),
            code=repeated(join.right, join.right_on),
            is_sampled=join.share < 1,
        )
    if join.unmatched:
        _tell_unmatched(findings, join)


def _tell_unmatched(findings: Findings, join: Join) -> None:
    """Report rows without a match: gone, or without the values of the other table."""
    result, left, right = join.result, join.left, join.right
    others, is_sampled = (left.name, right.name), join.share < 1
    if join.fits(join.inner_rows) or (result.rows < join.left_rows and not _has_unmatched(join)):
        text = f"{counted(join.unmatched_keys, 'group')} lost: {_without_partner(join)}"
        code = unmatched(left, join.left_on[0], right, join.right_on[0]) if len(join.left_on) == 1 else NONE
        findings.add(
            "groups",
            text,
            count=join.unmatched_keys,
            columns=join.left_on,
            others=others,
            code=code,
            is_sampled=is_sampled,
        )
    elif _has_unmatched(join):
        new = next((each for each in result.columns if each in right.columns and each not in left.columns), None)
        if new is None or result.columns[new].null_count <= right.columns[new].null_count:
            return  # the gaps were filled
        text = f"{counted(join.unmatched, 'new null')} in `{new}`: {quoted(join.left_on)} is not in `{right.name}`"
        findings.add(
            "nulls",
            text,
            count=join.unmatched,
            columns=join.left_on,
            others=others,
            code=missing(result, new),
            is_sampled=is_sampled,
        )


def _is_fan_out(findings: Findings, join: Join) -> bool:
    """True if the result repeats rows of the left table by mistake.

    One row to many, such as a customer and the orders, is intended; a key that should be unique, but is not, is a
    mistake.
    """
    left, right = join.left, join.right
    is_unique_left = len(join.left_on) == 1 and left.is_unique(join.left_on[0])
    is_own_key = join.share == 1 and distinct_count(join.left_keys) == len(join.left_keys)
    if findings.before is not None and left.name == join.result.name:
        return True
    if not is_unique_left and not is_own_key:
        return True
    if join.repeated_keys * 2 > join.right_distinct and not _has_same_rows(right):
        return False
    own = [each for each in right.columns if each not in join.right_on]
    return not any(right.columns[each].kind in {"integer", "text"} and right.is_unique(each) for each in own)


def _has_same_rows(table: ReadTable) -> bool:
    """True if many rows occur twice, with the same values in all columns."""
    names = [each for each, column in table.columns.items() if column.kind not in {"other", "mixed"}]
    keys = _keys(table, names) if table.rows <= SAMPLE and names else None
    return keys is not None and distinct_count(keys) < len(keys) * 0.9


def _has_unmatched(join: Join) -> bool:
    """True if the result has keys of the left table that the right one lacks."""
    lacking = np.unique(join.left_keys[join.matches == 0])
    result = join.result
    names = [each for each in join.left_on if each in result.everything]
    present = _keys_of(result, names, rows_for(result, names)) if names else None
    return present is not None and bool(np.isin(lacking, present).any())
