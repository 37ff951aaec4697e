"""Columns that a step changed: values that are gone, or of another type."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from agentnb.plugins.checks.alignment import Pair
from agentnb.plugins.checks.findings import counted
from agentnb.plugins.checks.number_checks import check_numbers, common_factor
from agentnb.plugins.checks.snippets import missing, of_type
from agentnb.plugins.checks.tables import TEXT_SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.plugins.checks.alignment import Alignment
    from agentnb.plugins.checks.findings import Findings
    from agentnb.plugins.checks.tables import Array, ReadTable, Rows

    Add: TypeAlias = Callable[..., None]
    """Adds a finding about the type of one column: :meth:`Findings.add` from its argument *text* on."""

_NUMERIC = {"integer", "number"}
_NO_VALUES = {"", "-", "--", "?", ".", "na", "n/a", "#n/a", "nan", "nat", "null", "none", "missing", "<na>"}
_TEXTS_OF_NULLS = {"nan", "NaN", "None", "NaT", "<NA>", "null"}
_MOST = 0.5
_NOT_TEXT = {"integer", "number", "time", "bool"}


def check_columns(
    findings: Findings, before: ReadTable, after: ReadTable, rows: Alignment, tables: Sequence[ReadTable] = ()
) -> None:
    for name, column in after.everything.items():
        if name not in before.everything:
            continue
        pair = Pair(name, before.everything[name], column, rows)
        _check_nulls(findings, before, after, pair)
        if pair.before.kind == "other" or pair.after.kind == "other":
            continue
        _check_type(findings, (before, after, *tables), pair)
        if pair.before.kind in _NUMERIC and pair.after.kind in _NUMERIC:
            check_numbers(findings, after, pair)


def _check_nulls(findings: Findings, before: ReadTable, after: ReadTable, pair: Pair) -> None:
    """Report values that are gone, except those that marked a missing value, or that lay outside all others."""
    if pair.after.null_count == 0:
        return
    first, second = pair.parts()
    gone = pair.after.nulls(second) & ~pair.before.nulls(first)
    share = pair.rows.total / max(1, len(gone))
    count = round(int(gone.sum()) * share)
    if pair.rows.total == before.rows == after.rows:
        count = max(count, pair.after.null_count - pair.before.null_count) if count else 0
    is_meant = bool(gone.any()) and (_is_meant(pair, gone) or _is_computed_anew(pair, gone))
    appended = _appended_nulls(pair)
    total = (0 if is_meant else count) + appended
    if not total:
        return
    text = f"{counted(total, 'new null')} in `{pair.name}`"
    if appended and not count:
        text = f"{text}, all in added rows"
    code = missing(after, pair.name, 0 if after.rows != before.rows else pair.before.null_count)
    findings.add("nulls", text, count=total, columns=(pair.name,), code=code, is_sampled=after.is_large)


def _appended_nulls(pair: Pair) -> int:
    appended = pair.rows.appended
    if appended is None or not len(appended):
        return 0
    missing_there = int(pair.after.nulls(appended).sum())
    usual = pair.before.null_count / max(1, pair.before.rows)
    return missing_there if usual == 0 and missing_there else 0


def _is_meant(pair: Pair, gone: Array) -> bool:
    """True if the lost values were one value, words for "missing", or one beyond all values that were left."""
    first, _ = pair.parts()
    if pair.before.kind in {"text", "mixed"}:
        rows = np.arange(pair.before.rows)[first] if isinstance(first, slice) else first
        texts = pair.before.objects(rows[gone][:TEXT_SAMPLE])
        return all(not isinstance(each, str) or each.strip().lower() in _NO_VALUES for each in texts)
    if pair.before.kind == "time":
        return False
    values = pair.before.numbers(first)
    lost, left = values[gone], values[~gone]
    left = left[~np.isnan(left)]
    if len(lost) and bool((lost == lost[0]).all()) and (len(lost) > 1 or not np.isin(lost[0], left)):
        return len(lost) > 1 or lost[0] < left.min(initial=np.inf) or lost[0] > left.max(initial=-np.inf)
    return len(left) > 0 and bool(np.all((lost < left.min()) | (lost > left.max())))


def _is_computed_anew(pair: Pair, gone: Array) -> bool:
    """True if most remaining values changed, too: a difference or a mean of several rows lacks some."""
    if pair.before.kind not in _NUMERIC or pair.after.kind not in _NUMERIC:
        return False
    first, second = pair.parts()
    was, now = pair.before.numbers(first), pair.after.numbers(second)
    left = ~gone & (was == was)  # noqa: PLR0124 - without missing ones
    return bool(left.any()) and float((was[left] != now[left]).mean()) > _MOST


def _check_type(findings: Findings, tables: Sequence[ReadTable], pair: Pair) -> None:
    was, now = pair.before.kind, pair.after.kind
    code, is_sampled = of_type(findings.after, pair.name, pair.before.dtype), pair.after.rows > TEXT_SAMPLE
    add = partial(findings.add, "type", columns=(pair.name,), code=code, is_sampled=is_sampled)
    types = f"({pair.before.dtype} → {pair.after.dtype})"
    if now == "mixed" and was != "mixed":
        add(f"`{pair.name}` has numbers and texts now {types}")
    elif now == "text" and was in _NOT_TEXT:
        if was != "integer" or not _names_rows(tables, pair):
            add(f"`{pair.name}` became text {types}")
    elif was == "text":
        _check_text(findings, pair, add)
    elif was == "time" and now in _NUMERIC:
        add(f"`{pair.name}` became numbers {types}")
    elif was in _NUMERIC and now == "time":
        _check_epoch(findings, pair)
    elif was in _NOT_TEXT and now in _NUMERIC and pair.after.is_objects and not pair.before.is_objects:
        add(f"dtype {pair.before.dtype} → {pair.after.dtype} in `{pair.name}`")
    elif was in _NUMERIC and now in _NUMERIC:
        _check_lost_digits(pair, add)


def _check_text(findings: Findings, pair: Pair, add: Add) -> None:
    """Check texts that became numbers or booleans, or that are still texts."""
    if pair.after.kind == "text":
        _check_texts_of_nulls(pair, add)
    elif pair.after.kind in _NUMERIC:
        _check_parsed(findings, pair, add)
    elif pair.after.kind == "bool":
        _check_truth(pair, add)


def _names_rows(tables: Sequence[ReadTable], pair: Pair) -> bool:
    """True if whole numbers that identify rows of some table became text: nobody calculates with those."""
    _, second = pair.parts(1_000)
    digits = all(each is None or each.lstrip("-").isdigit() for each in pair.after.texts(second))
    return digits and any(each.is_unique(pair.name) for each in tables if pair.name in each.everything)


def _check_truth(pair: Pair, add: Add) -> None:
    """Report values that became booleans: any text that is not empty is true, even “False”."""
    first, second = pair.parts(TEXT_SAMPLE)
    was, now = pair.before.keys(first), pair.after.numbers(second)
    if was is None or len(now) == 0:
        return
    known = len(np.unique(was[was != 0]))
    if known > 2 or (known == 2 and now.min() == now.max()):  # noqa: PLR2004 - truth has two values
        add(f"`{pair.name}` became truth values ({pair.before.dtype} → {pair.after.dtype})")


def _check_texts_of_nulls(pair: Pair, add: Add) -> None:
    first, second = pair.parts(TEXT_SAMPLE)
    missing_before = pair.before.nulls(first)
    if not missing_before.any():
        return
    texts = pair.after.texts(second)
    made = [each for each, was in zip(texts, missing_before, strict=True) if was and each in _TEXTS_OF_NULLS]
    if made:
        add(f"{counted(len(made), 'null')} of `{pair.name}` became the text “{made[0]}”", count=len(made))


def _check_parsed(findings: Findings, pair: Pair, add: Add) -> None:
    """Check texts that were read as numbers: leading zeros, and points and commas."""
    first, second = pair.parts(TEXT_SAMPLE)
    texts, numbers = pair.before.texts(first), pair.after.numbers(second)
    zeros = sum(1 for each in texts if each and len(each) > 1 and each[0] == "0" and each.isdigit())
    is_code = len({len(each) for each in texts if each}) == 1  # texts of one length, such as postal codes
    if zeros and (is_code or zeros * 10 >= sum(1 for each in texts if each)):
        add(f"zeros before {counted(zeros, 'value')} of `{pair.name}` are lost", count=zeros)
        return
    kept = [(each, number) for each, number in zip(texts, numbers, strict=True) if each and np.isfinite(number)]
    wrong = sum(1 for each, number in kept if _is_misread(each, float(number)))
    if kept and wrong * 2 > sum(1 for each, _ in kept if "," in each or "." in each) > 0:
        text = f"points and commas in `{pair.name}` were read wrongly ({counted(wrong, 'row')})"
        findings.add("unit", text, count=wrong, columns=(pair.name,), code=of_type(findings.after, pair.name, ""))


def _is_misread(text: str, number: float) -> bool:
    """True if a text with a decimal comma, or with points between thousands, was read as another number."""
    digits = text.strip().lstrip("-+€$£ ").rstrip("€$£ ")
    whole, comma, rest = digits.rpartition(",")
    if comma and rest.isdigit() and len(rest) in {1, 2} and whole.replace(".", "").replace(" ", "").isdigit():
        expected = float(f"{whole.replace('.', '').replace(' ', '')}.{rest}")
    elif digits.count(".") > 1 and digits.replace(".", "").isdigit():
        expected = float(digits.replace(".", ""))
    elif comma and len(rest) == 3 and rest.isdigit() and whole.replace(",", "").isdigit():  # noqa: PLR2004 - thousands
        expected = float(digits.replace(",", ""))
    else:
        return False
    return not math.isclose(expected, abs(number), rel_tol=1e-6)


def _check_epoch(findings: Findings, pair: Pair) -> None:
    first, second = pair.parts()
    numbers, times = pair.before.numbers(first), pair.after.times(second)
    known = times > np.iinfo("int64").min
    if not known.any() or np.nanmax(numbers) < 100_000_000:  # noqa: PLR2004 - seconds, three years
        return
    years = times[known].astype("datetime64[us]").astype("datetime64[Y]").astype(int) + 1970
    if years.max() == 1970 or years.min() > 2200:  # noqa: PLR2004
        text = f"`{pair.name}` lies in {years.min()}: its numbers were read in another unit"
        findings.add("unit", text, columns=(pair.name,), code=of_type(findings.after, pair.name, pair.after.dtype))


def _check_lost_digits(pair: Pair, add: Add) -> None:
    """Report decimals that were cut off, and whole numbers that the new type cannot hold."""
    first, second = pair.parts()
    if pair.before.kind == "integer" and (lost := _changed_digits(pair)):
        add(f"last digits of {counted(lost, 'value')} in `{pair.name}` are lost", count=lost)
        return
    if pair.before.dtype == pair.after.dtype:
        return
    was, now = pair.before.numbers(first), pair.after.numbers(second)
    endless = int((np.isfinite(was) & np.isinf(now)).sum())
    if endless:
        add(f"{counted(endless, 'value')} of `{pair.name}` became infinite", count=endless)
        return
    both = np.isfinite(was) & np.isfinite(now)
    was, now = was[both], now[both]
    if pair.before.kind == "number" and pair.after.kind == "integer":
        cut = int(((was != now) & (np.abs(was - now) < 1)).sum())
        is_rounded = (np.rint(was) == now).all() or ((np.floor(was) == now).all() and (was < 0).any())
        if cut and not is_rounded:
            add(f"decimals of {counted(cut, 'value')} in `{pair.name}` are cut", count=cut)
    wrapped = int(((was != now) & (was == np.rint(was)) & (np.abs(was - now) >= 1)).sum())
    is_smaller = _size(pair.after.dtype) < _size(pair.before.dtype)
    if wrapped and is_smaller and common_factor(was, now) is None:
        add(f"{counted(wrapped, 'value')} of `{pair.name}` do not fit {pair.after.dtype}", count=wrapped)


def _changed_digits(pair: Pair) -> int:
    """Returns how many long whole numbers changed slightly, because they were floats in between, or are."""
    first, second = pair.parts()
    was, now = pair.before.integers(first), pair.after.integers(second)
    if was is None or was.dtype.kind != "i":
        return 0
    if now is None:
        decimals = pair.after.numbers(second)
        if not np.isfinite(decimals).all() or np.abs(decimals).max(initial=0) >= 2**62:
            return 0
        now = decimals.astype("int64")
    if len(was) != len(now) or now.dtype.kind != "i":
        return 0
    off = np.abs(was.astype("int64") - now.astype("int64"))
    is_slight = bool((off <= np.abs(was) * 1e-6).all())
    return int((off != 0).sum()) if is_slight and int(np.abs(was).max(initial=0)) > 2**24 else 0


def _size(dtype: str) -> int:
    digits = "".join(each for each in dtype if each.isdigit())
    return int(digits) if digits else 64


def check_new_columns(findings: Findings, before: ReadTable, after: ReadTable) -> None:
    """Report added columns without values, or that a lookup has left empty for some keys."""
    if findings.has("nulls") or findings.has("fan-out"):
        return
    for name, column in after.columns.items():
        if name in before.columns or column.kind == "other":
            continue
        count = column.null_count
        if not count:
            continue
        if count == after.rows:
            findings.add("nulls", f"`{name}` has no value", count=count, columns=(name,), code=missing(after, name))
            continue
        rows = slice(0, after.rows, max(1, -(-after.rows // TEXT_SAMPLE)))
        gone = column.nulls(rows)
        key = next((each for each in before.columns if _decides(after, each, rows, gone)), None)
        if key is not None and not np.any(gone[:1] & (count == 1)):
            text = f"{counted(count, 'null')} in `{name}`: some `{key}` have no value"
            findings.add("nulls", text, count=count, columns=(name, key), code=missing(after, name))


def _decides(table: ReadTable, key: str, rows: Rows, gone: Array) -> bool:
    """True if, for each value of *key*, either all rows are empty or none is, and several rows show that."""
    column = table.columns.get(key)
    if column is None or column.kind not in {"integer", "text"} or (keys := column.keys(rows)) is None:
        return False
    distinct, at = np.unique(keys, return_inverse=True)
    if len(distinct) * 3 > len(keys) or len(distinct) < 3:  # noqa: PLR2004 - else each row decides for itself
        return False
    of_key = np.bincount(at)
    empty = np.bincount(at, weights=gone)
    some = empty > 0
    return bool((empty[some] == of_key[some]).all()) and bool(some.sum() * 2 < len(distinct)) and bool(gone.sum() > 2)  # noqa: PLR2004
