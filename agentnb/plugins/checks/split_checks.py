"""Parts of one table that should have nothing in common, such as those to train and to test a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from agentnb.plugins.checks.alignment import row_keys
from agentnb.plugins.checks.findings import counted
from agentnb.plugins.checks.snippets import shared
from agentnb.plugins.checks.tables import SAMPLE, distinct_count, every

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.plugins.checks.findings import Findings
    from agentnb.plugins.checks.tables import Array, Column, ReadTable, Rows

_PARTS = {
    **dict.fromkeys(("train", "training", "fit", "tr", "trn", "learn"), "train"),
    **dict.fromkeys(
        ("test", "testing", "valid", "validation", "val", "holdout", "eval", "evaluation", "dev", "te", "tst"), "test"
    ),
}
_WORD = re.compile(r"[A-Za-z]+")
_FEW = 3
_FEATURES = re.compile(r"(?:x|features?|inputs|predictors)(?=_|$|\d)", re.IGNORECASE)
_TARGETS = ("y", "Y", "target", "targets", "label", "labels", "outcome")


def part_of(name: str) -> tuple[str, str, str] | None:
    """Returns the part that a table's name says it is, the word for it, and the rest of the name; None if none.

    Example:
        >>> part_of("X_train"), part_of("df"), part_of("holdout")
        (('train', 'train', 'X_'), None, ('test', 'holdout', ''))
    """
    for match in _WORD.finditer(name):
        word = re.sub("^[xy](?=(?:train|test|val)$)", "", match.group().lower())
        if word in _PARTS:
            return _PARTS[word], word, name[: match.start()] + name[match.end() :]
    return None


def pairs_of(after: ReadTable, tables: Mapping[str, ReadTable]) -> list[tuple[ReadTable, ReadTable]]:
    """Returns the pairs of parts that *after* belongs to, the training part first."""
    own = part_of(after.name)
    if own is None:
        return []
    pairs = []
    for other in tables.values():
        its = part_of(other.name)
        if other is after or its is None or own[1] == its[1] or own[2].strip("_") != its[2].strip("_"):
            continue
        if set(after.columns) & set(other.columns):
            pairs.append((after, other) if own[0] == "train" or its[0] == "test" else (other, after))
    return pairs


def check_split(findings: Findings, train: ReadTable, test: ReadTable, earlier: Mapping[str, ReadTable]) -> None:
    """Report rows that are in both parts, and values that were scaled with those of both."""
    names = [
        each for each, column in test.columns.items() if each in train.columns and column.kind not in {"other", "mixed"}
    ]
    if not names or not train.rows or not test.rows:
        return
    _check_scaled(findings, train, test, names)
    count = _shared(train, test, names)
    was = _shared(earlier[train.name], earlier[test.name], names) if _were_there(train, test, names, earlier) else 0
    if count > was:
        text = f"{counted(count, 'row')} of `{test.name}` {'is' if count == 1 else 'are'} also in `{train.name}`"
        code = shared(test, train, names)
        sampled = max(train.rows, test.rows) > SAMPLE
        findings.add("leakage", text, count=count, others=(train.name, test.name), code=code, is_sampled=sampled)


def _were_there(train: ReadTable, test: ReadTable, names: list[str], earlier: Mapping[str, ReadTable]) -> bool:
    return all(
        each.name in earlier and all(one in earlier[each.name].columns for one in names) for each in (train, test)
    )


def _shared(train: ReadTable, test: ReadTable, names: list[str]) -> int:
    """Returns how many rows of *test* are also in *train*, unless that can be chance."""
    bits = 0
    while max(train.rows, test.rows) >> bits > SAMPLE:
        bits += 1
    usable = names if not bits else [each for each in names if train.columns[each].kind != "text"][:8]
    ours, theirs = (row_keys(each, usable, slice(0, each.rows)) for each in (train, test))
    if ours is None or theirs is None:
        return 0
    if bits:
        zeros = np.uint64((1 << bits) - 1)
        ours, theirs = ours[ours & zeros == 0], theirs[theirs & zeros == 0]
    both = np.isin(theirs, ours)
    count = int(both.sum())
    if not count:
        return 0
    labels = _same_labels(train, test)
    if labels:
        return max(labels, count << bits)
    if _has_identity(train, usable) or count > 3 * _by_chance(ours) * len(theirs) + _FEW:
        return count << bits
    return 0


def _same_labels(train: ReadTable, test: ReadTable) -> int:
    """Returns how many rows of *test* have an index label that is in *train*, too, if both come from one table."""
    one, other = train.pandas_index(), test.pandas_index()
    if one is None or other is None or one.dtype != other.dtype or max(train.rows, test.rows) > SAMPLE:
        return 0
    if "RangeIndex" in {type(one).__name__, type(other).__name__}:
        return 0
    return int(other.isin(one).sum())


def _has_identity(table: ReadTable, names: list[str]) -> bool:
    """True if one column has a different value in each distinct row."""
    rows = every(table.rows)
    keys = row_keys(table, names, rows)
    if keys is None or len(keys) < _FEW:
        return False
    distinct = distinct_count(keys)
    if distinct * 2 < len(keys):
        return False
    for each in names:
        values = table.columns[each].keys(rows)
        if values is not None and distinct_count(values) >= 0.999 * distinct:
            return True
    return False


def _by_chance(keys: Array) -> float:
    """Returns the share of a part's rows that have the same values as another row of it."""
    _, counts = np.unique(keys, return_counts=True)
    return float(counts[counts > 1].sum() / max(1, len(keys)))


def _check_scaled(findings: Findings, train: ReadTable, test: ReadTable, names: list[str]) -> None:
    """Report values that were scaled with those of both parts: only together they have mean 0 and deviation 1."""
    if max(train.rows, test.rows) > SAMPLE or train.rows < 10 or test.rows < 2:  # noqa: PLR2004
        return
    for each in names:
        if train.columns[each].kind != "number" or test.columns[each].kind != "number":
            continue
        one, other = (part.columns[each].numbers(slice(0, part.rows)) for part in (train, test))
        both = np.concatenate([one, other])
        if not np.isfinite(both).all():
            continue
        together = abs(both.mean()) < 1e-9 and min(abs(both.std() - 1), abs(both.std(ddof=1) - 1)) < 1e-9  # noqa: PLR2004
        alone = abs(one.mean()) < 1e-9  # noqa: PLR2004
        span = both.min() == 0 and both.max() == 1 and not (one.min() == 0 and one.max() == 1)
        if (together and not alone) or span:
            text = f"`{each}` was scaled with the values of `{train.name}` and `{test.name}` together"
            findings.add("leakage", text, columns=(each,), others=(train.name, test.name))
            return


def check_target(findings: Findings, after: ReadTable, tables: Mapping[str, ReadTable]) -> None:
    """Report a feature column that is the target."""
    head = _FEATURES.match(after.name)
    if head is None:
        return
    rest = after.name[head.end() :]
    target = next((tables[each + rest] for each in _TARGETS if each + rest in tables), None)
    if target is None or target.width != 1 or target.rows != after.rows:
        return
    rows = every(after.rows)
    (column,) = target.columns.values()
    wanted = column.keys(rows)
    if wanted is None or distinct_count(wanted) < 2:  # noqa: PLR2004 - a constant is like any other
        return
    for name, each in after.columns.items():
        keys = each.keys(rows) if each.kind != "other" else None
        is_same = keys is not None and bool((keys == wanted).all())
        if is_same or _is_line(each, column, rows):
            text = f"`{name}` of `{after.name}` is the target `{target.name}`{'' if is_same else ' in another unit'}"
            findings.add("leakage", text, columns=(name,), others=(target.name,))


def _is_line(one: Column, other: Column, rows: Rows) -> bool:
    """True if one column is a linear function of the other, with too many distinct values for that to be chance."""
    if {one.kind, other.kind} - {"integer", "number"}:
        return False
    first, second = one.numbers(rows), other.numbers(rows)
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        return False
    if min(distinct_count(each) for each in (first, second)) <= _FEW:
        return False
    return abs(float(np.corrcoef(first, second)[0, 1])) > 1 - 1e-12
