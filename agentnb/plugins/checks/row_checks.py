"""Rows that a step added, took away or moved: loaded twice, lost with their group, no longer in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agentnb.plugins.checks.alignment import row_keys
from agentnb.plugins.checks.findings import counted, quoted
from agentnb.plugins.checks.snippets import in_order, missing, repeated, unmatched
from agentnb.plugins.checks.tables import SAMPLE, TEXT_SAMPLE, distinct_count, every, rows_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentnb.plugins.checks.alignment import Alignment
    from agentnb.plugins.checks.findings import Findings
    from agentnb.plugins.checks.tables import Array, ReadTable

_MOST_GROUPS = 1_000
_FEW = 3
_UNLIKELY = 1e-3


def check_repeated(findings: Findings, sources: Sequence[ReadTable], after: ReadTable) -> None:
    """Report rows that are duplicated and were not before, and keys of rows that are no longer unique."""
    names = _hashable(after)
    if not names or findings.has("fan-out") or (len(names) == 1 and not sources):
        return  # a single column, such as a target, does not identify rows
    extra = _repeats(after, names)
    repeats = {each.rows: _repeats(each, [one for one in names if one in each.everything]) for each in sources if extra}
    before = max(repeats.values(), default=0)
    limit = _expected(repeats, after)
    if extra > before + limit and _names_rows(after, names, 0.8 if sources else 0.999):
        count = _rounded(extra - before) if after.is_large else extra - before
        text = f"{counted(count, 'row')} are duplicated" if count > 1 else "1 row is duplicated"
        text = f"about {text}" if after.is_large else text
        findings.add("duplicates", text, count=count, code=repeated(after, ()), is_sampled=after.is_large)
        return
    for each in sources:
        _check_unique(findings, each, after)


def _rounded(estimate: int) -> int:
    """Round an estimate to one significant digit."""
    unit = int(10 ** (len(str(estimate)) - 1))
    return round(estimate / unit) * unit


def _hashable(table: ReadTable) -> list[str]:
    names = [each for each, column in table.everything.items() if column.kind not in {"other", "mixed"}]
    if table.rows > TEXT_SAMPLE * 3:
        names = [each for each in names if table.everything[each].kind != "text"]
    return names


def _repeats(table: ReadTable, names: Sequence[str]) -> int:
    """Returns how many rows repeat an earlier one; a large table is sampled by hash, and the count scaled up."""
    if not names:
        return 0
    rows: Array | slice = slice(0, table.rows)
    bits = 0
    while table.rows >> bits > (SAMPLE if bits == 0 else SAMPLE // 2):
        bits += 1
    if bits:
        codes = table.everything[_most_different(table, names)].rough()
        if codes is None:
            return 0
        rows = np.flatnonzero(codes & np.uint64((1 << bits) - 1) == 0)
        if len(rows) > 4 * SAMPLE:
            return 0  # too many equal hashes: the rows are not distinguishable
    keys = row_keys(table, names, rows)
    return 0 if keys is None else (len(keys) - distinct_count(keys)) << bits


def _most_different(table: ReadTable, names: Sequence[str]) -> str:
    """Returns the column of numbers or times with the most distinct values in its first rows."""
    rows = slice(0, min(table.rows, 2_000))
    usable = [each for each in names if table.everything[each].kind in {"integer", "number", "time"}] or [*names]
    sizes = {each: table.everything[each].keys(rows) for each in usable[:8]}
    return max(sizes, key=lambda each: 0 if (keys := sizes[each]) is None else distinct_count(keys))


def _expected(repeats: Mapping[int, int], after: ReadTable) -> int:
    """Returns how many repeats are expected by chance: for the added rows, up to three times the share before."""
    share = max((count / rows for rows, count in repeats.items() if rows), default=0.0)
    return round(3 * share * max(0, after.rows - max(repeats, default=after.rows)))


def _names_rows(table: ReadTable, names: Sequence[str], share: float) -> bool:
    """True if equal rows are no accident: some column has nearly as many values as there are distinct rows."""
    rows = slice(0, min(table.rows, TEXT_SAMPLE))
    keys = row_keys(table, names, rows)
    if keys is None or len(keys) < _FEW:
        return False
    distinct = distinct_count(keys)
    if distinct * 3 < len(keys):
        return False
    for each in names:
        own = table.everything[each].keys(rows)
        if own is not None and distinct_count(own) > share * distinct and distinct > _FEW:
            return True
    return False


def _check_unique(findings: Findings, before: ReadTable, after: ReadTable) -> None:
    """Report a column that identified each row and no longer does, if rows were added."""
    if after.rows <= before.rows or set(before.columns) != set(after.columns):
        return  # with a new column, a row may have been split on purpose
    if any(column.kind == "other" for column in before.columns.values()):
        return  # lists may have been exploded into rows
    for name, column in before.columns.items():
        if column.kind not in {"integer", "text"} or not before.is_unique(name):
            continue
        keys = after.columns[name].keys(after.exact_rows(after.columns[name]))
        if keys is None:
            continue
        _, counts = np.unique(keys, return_counts=True)
        twice = int((counts > 1).sum())
        if twice and not _is_unfolded(before, after, name):
            text = f"`{name}` is no longer unique ({counted(twice, 'key')})"
            findings.add("duplicates", text, count=twice, columns=(name,), code=repeated(after, (name,)))
            return


def _is_unfolded(before: ReadTable, after: ReadTable, key: str) -> bool:
    """True if a text in each row was split into its parts, one per row."""
    texts = [each for each, column in before.columns.items() if each != key and column.kind == "text"]
    rows, others = (every(each.rows, TEXT_SAMPLE * 3) for each in (before, after))
    keys = before.columns[key].objects(rows)
    now_keys = after.columns[key].objects(others)
    for name in texts:
        whole = dict(zip(keys, before.columns[name].objects(rows), strict=True))
        parts = [(whole.get(at), part) for at, part in zip(now_keys, after.columns[name].objects(others), strict=True)]
        pairs = [(one, part) for one, part in parts if isinstance(one, str) and isinstance(part, str)]
        if any(one != part for one, part in pairs) and all(part.strip() in one for one, part in pairs):
            return True
    return False


def check_index(findings: Findings, before: ReadTable, after: ReadTable) -> None:
    """Report an index that identified each row and no longer does."""
    one, other = before.pandas_index(), after.pandas_index()
    if one is None or other is None or not before.index or [*before.index] != [*after.index]:
        return
    if max(before.rows, after.rows) <= 10 * SAMPLE and one.is_unique and not other.is_unique:
        twice = int(other.duplicated().sum())
        text = f"index no longer unique ({counted(twice, 'label')} twice)"
        findings.add("index", text, count=twice, columns=[*after.index], code=repeated(after, [*after.index]))


def check_order(findings: Findings, before: ReadTable, after: ReadTable) -> None:
    """Report rows that were in the order of a time and no longer are, though they are in no other order."""
    if before.rows < _FEW or after.rows < before.rows:
        return
    for name, column in before.everything.items():
        if column.kind != "time" or name not in after.everything or after.everything[name].kind != "time":
            continue
        if not _rises(before, name) or _rises(after, name):
            continue
        if any(_rises(after, each) or _rises(after, each, down=True) for each in after.everything):
            return
        findings.add("order", f"sorted order lost in `{name}`", columns=(name,), code=in_order(after, name))
        return


def _rises(table: ReadTable, name: str, *, down: bool = False) -> bool:
    column = table.everything[name]
    rows = slice(0, min(table.rows, SAMPLE))
    values: Array
    if column.kind == "time":
        values = column.times(rows)
    elif column.kind in {"integer", "number"}:
        values = column.numbers(rows)
    elif column.kind == "text":
        texts = [each or "" for each in column.texts(slice(0, min(table.rows, TEXT_SAMPLE)))]
        return texts == sorted(texts, reverse=down) and len({*texts}) > 1
    else:
        return False
    steps = np.diff(values)
    return bool((steps <= 0).all() if down else (steps >= 0).all()) and bool((steps != 0).any())


def check_groups_of_rows(findings: Findings, before: ReadTable, after: ReadTable, rows: Alignment) -> None:
    """Report groups whose rows are all gone, though the step did not select by group."""
    removed = rows.removed
    if removed is None or not len(removed) or (rows.appended is not None and len(rows.appended)):
        return
    gone = np.zeros(before.rows, dtype=bool)
    gone[removed] = True
    some = every(before.rows, TEXT_SAMPLE)
    gone = gone[some]
    by_nulls = _is_by_nulls(before, gone, some)
    for name, column in before.columns.items():
        if column.kind not in {"text", "integer", "bool"} or name not in after.columns:
            continue
        keys = column.keys(some)
        if keys is None:
            continue
        distinct, at = np.unique(keys, return_inverse=True)
        if not 1 < len(distinct) <= min(_MOST_GROUPS, len(keys) // 2):
            continue
        sizes, lost = np.bincount(at), np.bincount(at, weights=gone)
        vanished = (lost == sizes) & (distinct != 0)
        partly = (lost > 0) & (lost < sizes)
        if not vanished.any() or not partly.any():
            continue
        share = float(gone.mean())
        if (by_nulls and _is_no_chance(sizes, vanished, share)) or _is_unlikely(sizes, vanished, partly, share):
            count = int(vanished.sum())
            first = int(np.flatnonzero(at == np.flatnonzero(vanished)[0])[0])
            example = column.objects(np.array([first * some.step]))[0]
            text = f"{counted(count, 'group')} of `{name}` lost"
            if isinstance(example, str) and count == 1:
                text = f"{text} (“{example[:40]}”)"
            findings.add("groups", text, count=count, columns=(name,))


def _is_by_nulls(table: ReadTable, gone: Array, rows: slice) -> bool:
    """True if exactly the rows with a missing value were removed."""
    lacking = np.zeros(len(gone), dtype=bool)
    for column in table.columns.values():
        if column.null_count:
            nulls = column.nulls(rows)
            if bool((nulls <= gone).all()):
                lacking |= nulls
    return bool((lacking == gone).all())


def _is_unlikely(sizes: Array, vanished: Array, partly: Array, share: float) -> bool:
    """True if chance would hardly remove all rows of the groups that vanished, while others lost a part."""
    if int(partly.sum()) * 2 < len(sizes) or int(vanished.sum()) * 3 > len(sizes):
        return False
    return _is_no_chance(sizes, vanished, share)


def _is_no_chance(sizes: Array, vanished: Array, share: float) -> bool:
    """True if chance, which removes *share* of all rows, would hardly remove all of each group that vanished."""
    chance = share ** sizes[vanished].astype(float)
    return bool(np.all(chance * len(sizes) < _UNLIKELY))


def check_summary(findings: Findings, tables: Sequence[ReadTable], after: ReadTable) -> None:
    """Report groups that a table with one row per group lacks, compared to the rows that it was made from."""
    levels = [*after.index] or _keys_of_rows(after)
    for name in levels:
        own = after.everything[name]
        if own.kind not in {"text", "integer", "bool", "time"} or after.rows < 2:  # noqa: PLR2004 - one row is no summary
            continue
        for table in tables:
            source = table.everything.get(name)
            if source is None or source.kind != own.kind or table.rows <= after.rows or after.rows > SAMPLE:
                continue
            if len(levels) == 1 and not after.is_unique(name):
                continue
            if not _is_summary(table, after, name):
                continue
            rows = rows_for(table, (name,))
            keys, groups = source.keys(rows), own.keys(slice(0, after.rows))
            if keys is None or groups is None or (not table.is_large and not bool(np.isin(groups, keys).all())):
                continue
            if own.kind == "time":  # a difference or a rolling mean lacks the first or last times
                times, present = source.times(rows), own.times(slice(0, after.rows))
                keys = keys[(times >= present.min()) & (times <= present.max())]
            _tell_lost(findings, table, name, keys, groups)


def _keys_of_rows(table: ReadTable) -> list[str]:
    """Returns the first columns, at most three, that together identify each row; empty if there are none."""
    names = [*table.columns][: min(3, len(table.columns) - 1)]
    for count in range(1, len(names) + 1):
        keys = row_keys(table, names[:count], slice(0, min(table.rows, TEXT_SAMPLE)))
        if keys is not None and distinct_count(keys) == len(keys):
            return names[:count]
    return []


def _is_summary(table: ReadTable, after: ReadTable, name: str) -> bool:
    """True if *after* has values other than the rows of *table*: it is no filter, and not from another table."""
    if table.is_unique(name):
        return False
    others = [each for each in after.columns if each != name]
    same = [each for each in others if each in table.columns]
    if not others:
        return False
    if not same:
        return bool(after.index) and table.rows > 2 * after.rows
    rows = every(after.rows, 2_000)

    for each in same:
        ours, theirs = after.columns[each].keys(rows), table.columns[each].keys(every(table.rows, TEXT_SAMPLE))
        if ours is not None and theirs is not None and float(np.isin(ours, theirs).mean()) < 0.5:  # noqa: PLR2004
            return True
    return bool(after.index) and not table.index and table.rows > 2 * after.rows


def _tell_lost(findings: Findings, table: ReadTable, name: str, keys: Array, groups: Array) -> None:
    lost = np.setdiff1d(keys, groups)
    if len(lost) > len(groups):
        return  # most groups are missing: some were selected
    without = round(int((keys == 0).sum()) * table.rows / len(keys)) if 0 in lost else 0
    named = lost[lost != 0]
    if len(named):
        count = round(int(np.isin(keys, named).sum()) * table.rows / len(keys))
        text = f"{counted(len(named), 'group')} of `{name}` lost: {counted(count, 'row')} of `{table.name}`"
        code = unmatched(table, name, findings.after, name)
        findings.add("groups", text, count=len(named), columns=(name,), others=(table.name,), code=code)
    elif without:
        text = f"1 group lost: {counted(without, 'row')} of `{table.name}` without {quoted((name,))}"
        code = missing(table, name)
        findings.add("groups", text, count=1, columns=(name,), others=(table.name,), code=code)
