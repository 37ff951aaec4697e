"""Dates that a step moved: by a day, an hour, a month; and periods that end a day too early."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agentnb.plugins.checks.alignment import Pair
from agentnb.plugins.checks.findings import counted
from agentnb.plugins.checks.snippets import NONE, first_and_last
from agentnb.plugins.checks.tables import NO_TIME, SAMPLE, TEXT_SAMPLE, every

if TYPE_CHECKING:
    from agentnb.plugins.checks.alignment import Alignment
    from agentnb.plugins.checks.findings import Findings
    from agentnb.plugins.checks.snippets import CheckSnippet
    from agentnb.plugins.checks.tables import Array, ReadTable

_DAY = 86_400_000_000
_HOUR = 3_600_000_000
_MOST_ZONE_HOURS = 14
_FEW = 3
_MONTHS = 12


def check_dates(findings: Findings, before: ReadTable, after: ReadTable, rows: Alignment) -> None:
    for name, column in after.everything.items():
        if name not in before.everything:
            continue
        pair = Pair(name, before.everything[name], column, rows)
        kinds = pair.before.kind, pair.after.kind
        if kinds == ("time", "time"):
            first, second = pair.parts()
            utc = pair.before.has_zone and pair.after.has_zone
            was, now = pair.before.times(first, utc=utc), pair.after.times(second, utc=utc)
            got_zone = pair.before.has_zone != pair.after.has_zone  # some local times do not exist in a time zone
            if not got_zone or (was != now).mean() > 0.01:  # noqa: PLR2004 - an hour of a year
                _check_moved(findings, name, was, now)
        elif kinds == ("text", "time"):
            _check_read(findings, pair)
        elif kinds == ("integer", "integer"):
            _check_calendar_numbers(findings, pair)
    _check_moved_rows(findings, before, after, rows)


def check_period(findings: Findings, before: ReadTable, after: ReadTable, rows: Alignment) -> None:
    """Check the rows that a filter removed: the last day of a month, or the last day of all."""
    removed = rows.removed
    if removed is None or not len(removed) or rows.appended is None or len(rows.appended):
        return
    for name, column in before.everything.items():
        if column.kind != "time" or name not in after.everything:
            continue
        gone_times = column.times(removed[every(len(removed))])
        left_times = after.everything[name].times(every(after.rows, 5 * SAMPLE))
        gone, left = _days(gone_times), _days(left_times)
        if not len(gone) or not len(left):
            continue
        _check_end(findings, name, gone, left)
        _check_midnight(findings, name, gone_times, left_times)


def _check_end(findings: Findings, name: str, gone: Array, left: Array) -> None:
    last = int(left.max())
    next_day = int((gone == last + 1).sum())
    if not next_day or bool(((gone >= left.min()) & (gone <= last)).any()):
        return
    day = np.datetime64(last + 1, "D")
    is_last_of_all = bool(gone.max() == last + 1)
    is_end_of_month = (day + 1).astype("datetime64[M]") != day.astype("datetime64[M]")
    first = np.datetime64(int(left.min()), "D").astype("datetime64[M]").astype("datetime64[D]").astype(int)
    is_start_of_month = not bool(((gone >= first) & (gone < left.min())).any())
    if (is_end_of_month and is_start_of_month) or (is_last_of_all and not bool((gone < left.min()).any())):
        text = f"`{name}` ends a day before {day}: {counted(next_day, 'row')} of that day are left out"
        findings.add("dates", text, count=next_day, columns=(name,), code=_ends(findings, name))


def _check_midnight(findings: Findings, name: str, gone: Array, left: Array) -> None:
    """Report a period of times up to a day if only that day's midnight is in it."""
    last, first = int(left.max()), int(left[left != NO_TIME].min())
    later = (gone > last) & (gone < last + _DAY)
    is_within = ((gone >= first) & (gone < last)).any()
    if last % _DAY == 0 and later.any() and not is_within and (left % _DAY != 0).any():
        day = str((left.max() // _DAY).astype("datetime64[D]"))
        count = int(later.sum())
        text = f"`{name}` ends at midnight of {day}: {counted(count, 'row')} of that day are left out"
        findings.add("dates", text, count=count, columns=(name,))


def check_derived_dates(findings: Findings, before: ReadTable | None, after: ReadTable) -> None:
    """Check new columns: days next to those of the times that they were made from, and months off by one."""
    known = () if before is None else (*before.columns,)
    times = {each: column for each, column in after.columns.items() if column.kind == "time"}
    for name, column in after.columns.items():
        if name in known:
            continue
        rows = slice(0, after.rows, max(1, -(-after.rows // TEXT_SAMPLE)))
        for other, source in times.items():
            if other == name:
                continue
            if column.kind == "time":
                _check_day_of(findings, name, other, source.times(rows), column.times(rows))
            elif column.kind == "integer":
                _check_part_of(findings, name, other, source.times(rows), column.numbers(rows))


def _days(times: Array) -> Array:
    days: Array = times[times != NO_TIME] // _DAY
    return days


def _known(was: Array, now: Array) -> tuple[Array, Array]:
    both = (was != NO_TIME) & (now != NO_TIME)
    return was[both], now[both]


def _ends(findings: Findings, name: str) -> CheckSnippet:
    before = findings.before
    if before is None or name not in before.everything or before.everything[name].kind != "time":
        return NONE
    times = before.everything[name].times(slice(0, before.rows))
    times = times[times != NO_TIME]
    first, last = (np.datetime64(int(each), "us").item() for each in (times.min(), times.max()))
    return first_and_last(findings.after, name, str(first), str(last))


def _check_moved(findings: Findings, name: str, was: Array, now: Array) -> None:
    was, now = _known(was, now)
    if len(was) < _FEW:
        return
    moved = now - was
    if not moved.any():
        return
    is_binned = bool((now % _DAY == 0).all()) and bool((was % _DAY != 0).any())
    if is_binned and _check_binned(findings, name, was, now):
        return
    if is_binned or _is_start_of_period(was, now):
        return
    if (late := _in_next_month(was, now)) > 0:
        text = f"`{name}` is in the next month in {counted(late, 'row')}"
        findings.add("dates", text, count=late, columns=(name,), code=_ends(findings, name))
        return
    if text := _how_moved(name, was, now):
        findings.add("dates", text, count=int((moved != 0).sum()), columns=(name,), code=_ends(findings, name))


def _how_moved(name: str, was: Array, now: Array) -> str:
    """Returns how times were moved: all equally, by a time zone, only some, or with day and month swapped."""
    moved = now - was
    distinct = np.unique(moved)
    if len(distinct) == 1:
        return f"`{name}` is {_span(int(distinct[0]))}"
    if (months := _months(was, now)) is not None:
        return f"`{name}` is {counted(abs(months), 'month')} {'later' if months > 0 else 'earlier'}"
    is_zone = bool((np.abs(distinct) <= _MOST_ZONE_HOURS * _HOUR).all()) and not (distinct % _HOUR).any()
    if len(distinct) <= _FEW and is_zone:
        hours = sorted({abs(int(each)) // _HOUR for each in distinct if each})
        return f"`{name}` is {'–'.join(map(str, hours))} hours {'later' if distinct.max() > 0 else 'earlier'}"
    if 0 in distinct and len(distinct) == 2 and np.abs(distinct).max() <= 31 * _DAY:  # noqa: PLR2004 - some, by the same
        return f"`{name}` is {_span(int(distinct[distinct != 0][0]))} in {counted(int((moved != 0).sum()), 'row')}"
    return f"day and month of `{name}` are swapped" if _is_swapped(was, now) else ""


def _check_binned(findings: Findings, name: str, was: Array, now: Array) -> bool:
    """Report days in *now* that are not those of *was*; returns True if there are any."""
    shift = now // _DAY - was // _DAY
    near = (shift >= -1) & (shift <= 1)
    if not shift.any() or not near.all():
        return False
    count = int((shift != 0).sum())
    days = "a day later" if shift.max() > 0 else "a day earlier"
    where = "" if count == len(shift) else f" in {counted(count, 'row')}"
    findings.add("dates", f"`{name}` is {days}{where}", count=count, columns=(name,), code=_ends(findings, name))
    return True


def _is_start_of_period(was: Array, now: Array) -> bool:
    """True if each time became the start, or the end, of its week, month, quarter or year."""
    days = (now // _DAY).astype("datetime64[D]")
    before = (was // _DAY).astype("datetime64[D]")
    months, old = days.astype("datetime64[M]"), before.astype("datetime64[M]")
    first = bool((months.astype("datetime64[D]") == days).all())
    last = bool(((days + 1).astype("datetime64[M]") != months).all())
    if first or last:
        distance = (old - months if first else months - old).astype(int)
        is_near = bool(((distance >= 0) & (distance < _MONTHS)).all())
        return is_near and (first or not bool((distance == 1).any() and (distance == 0).any()))
    weekdays = (days.astype(int) + 3) % 7
    distance = np.abs(days.astype(int) - before.astype(int))
    return bool((weekdays == weekdays[0]).all()) and bool((distance < 7).all()) and len(np.unique(distance)) > 1  # noqa: PLR2004


def _in_next_month(was: Array, now: Array) -> int:
    """Returns how many times became the end of the next month, while others became that of their own."""
    days = (now // _DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    distance = (months - was.astype("datetime64[us]").astype("datetime64[M]")).astype(int)
    is_end = ((days + 1).astype("datetime64[M]") != months).all()
    return int((distance == 1).sum()) if is_end and {*distance.tolist()} == {0, 1} else 0


def _months(was: Array, now: Array) -> int | None:
    """Returns by how many months all times were moved; None if they were not all moved by the same number."""
    one, other = (each.astype("datetime64[us]").astype("datetime64[M]").astype(int) for each in (was, now))
    distance = np.unique(other - one)
    days = np.abs(_day_of_month(now) - _day_of_month(was))
    return int(distance[0]) if len(distance) == 1 and distance[0] and bool((days <= 3).all()) else None  # noqa: PLR2004


def _day_of_month(times: Array) -> Array:
    days = (times // _DAY).astype("datetime64[D]")
    days_of_month: Array = (days - days.astype("datetime64[M]").astype("datetime64[D]")).astype(int) + 1
    return days_of_month


def _month_of_year(times: Array) -> Array:
    months: Array = times.astype("datetime64[us]").astype("datetime64[M]").astype(int) % _MONTHS + 1
    return months


def _is_swapped(was: Array, now: Array) -> bool:
    changed = was != now
    one, other = was[changed], now[changed]
    same = (_day_of_month(one) == _month_of_year(other)) & (_month_of_year(one) == _day_of_month(other))
    return bool(same.all())


def _span(microseconds: int) -> str:
    number, word = abs(microseconds), "later" if microseconds > 0 else "earlier"
    if number % _DAY == 0:
        return f"{counted(number // _DAY, 'day')} {word}"
    if number % _HOUR == 0:
        return f"{counted(number // _HOUR, 'hour')} {word}"
    return f"{number / 1e6:,.6g} s {word}"


def _check_read(findings: Findings, pair: Pair) -> None:
    """Report texts that became other dates than they state."""
    first, second = pair.parts(20_000)
    texts, times = pair.before.texts(first), pair.after.times(second)
    rows = [(each, int(time)) for each, time in zip(texts, times, strict=True) if each and time != NO_TIME]
    order = _day_first(texts)
    parsed = [_parsed(each, day_first=order) for each, _ in rows]
    known = [(one, time) for one, (_, time) in zip(parsed, rows, strict=True) if one is not None]
    if len(known) < _FEW:
        return
    days = np.array([each for (each, _), _ in known], dtype="datetime64[D]").astype(int)
    shift = np.array([time // _DAY for _, time in known]) - days
    if not shift.any():
        return
    if len(set(shift.tolist())) == 1 and abs(int(shift[0])) <= 31:  # noqa: PLR2004 - a month
        text = f"`{pair.name}` is {_span(int(shift[0]) * _DAY)} than the text says"
    elif all(is_iso for (_, is_iso), _ in known) or order is not None:
        text = f"day and month of {counted(int((shift != 0).sum()), 'value')} in `{pair.name}` are swapped"
    else:
        return
    findings.add("dates", text, count=int((shift != 0).sum()), columns=(pair.name,), code=_ends(findings, pair.name))


def _parsed(text: str, *, day_first: bool | None) -> tuple[str, bool] | None:
    """Returns the day that *text* states, and whether it is in ISO order; None if that is not clear."""
    head = text.strip()[:10]
    if len(head) == 10 and head[4] == head[7] == "-" and (head[:4] + head[5:7] + head[8:]).isdigit():  # noqa: PLR2004
        return head, True
    parts = head.replace(".", "/").replace("-", "/").split("/")
    if len(parts) != 3 or not all(each.isdigit() for each in parts) or len(parts[2]) != 4:  # noqa: PLR2004
        return None
    day, month, year = (parts[0], parts[1], parts[2]) if day_first else (parts[1], parts[0], parts[2])
    is_clear = day_first is not None and 0 < int(month) <= _MONTHS and 0 < int(day) <= 31  # noqa: PLR2004 - of a month
    return (f"{year}-{int(month):02}-{int(day):02}", False) if is_clear else None


def _day_first(texts: list[str | None]) -> bool | None:
    """True if the day comes first, as dates with a day after the 12th show; None if they do not settle it."""
    seen = set()
    for each in texts:
        parts = (each or "").strip()[:10].replace(".", "/").replace("-", "/").split("/")
        if len(parts) == 3 and all(one.isdigit() for one in parts):  # noqa: PLR2004 - day, month and year
            if int(parts[0]) > _MONTHS:
                seen.add(True)
            elif int(parts[1]) > _MONTHS:
                seen.add(False)
    return seen.pop() if len(seen) == 1 else None


def _check_calendar_numbers(findings: Findings, pair: Pair) -> None:
    first, second = pair.parts()
    was, now = pair.before.numbers(first), pair.after.numbers(second)
    if len(was) < _FEW or np.isnan(was).any() or np.isnan(now).any():
        return
    shift = now - was
    low, high = was.min(), was.max()
    is_part = (low >= 1 and high in {7, 12, 28, 29, 30, 31, 52, 53}) or (low >= 1900 and high <= 2100)  # noqa: PLR2004
    if is_part and abs(shift[0]) == 1 and bool((shift == shift[0]).all()):
        word = "higher" if shift[0] > 0 else "lower"
        findings.add("dates", f"`{pair.name}` is 1 {word}", count=len(was), columns=(pair.name,))


def _check_day_of(findings: Findings, name: str, other: str, source: Array, made: Array) -> None:
    """Check a new column of days against a column of times."""
    source, made = _known(source, made)
    if len(made) < _FEW or bool((made % _DAY != 0).any()) or not bool((source % _DAY != 0).any()):
        return
    shift = made // _DAY - source // _DAY
    if shift.any() and not shift.all() and bool(((shift >= -1) & (shift <= 1)).all()) and len({*shift.tolist()}) == 2:  # noqa: PLR2004
        hours = source % _DAY
        moved, left = hours[shift != 0], hours[shift == 0]
        if moved.min() > left.max() - _HOUR or moved.max() < left.min() + _HOUR:  # an hour less in summer
            word = "later" if shift.max() > 0 else "earlier"
            text = f"`{name}` is a day {word} than `{other}` in {counted(int((shift != 0).sum()), 'row')}"
            findings.add("dates", text, count=int((shift != 0).sum()), columns=(name, other))


def _check_part_of(findings: Findings, name: str, other: str, source: Array, made: Array) -> None:
    """Check a new column of months, days or years against a column of times."""
    known = (source != NO_TIME) & np.isfinite(made)
    source, made = source[known], made[known]
    if len(made) < _FEW or len({*made[:1_000].tolist()}) < 2:  # noqa: PLR2004 - one value shows nothing
        return
    years = source.astype("datetime64[us]").astype("datetime64[Y]").astype(int) + 1970
    parts = {"month": _month_of_year(source), "day": _day_of_month(source), "year": years}
    for part, values in parts.items():
        shift = made - values
        if abs(shift[0]) == 1 and bool((shift == shift[0]).all()):
            word = "higher" if shift[0] > 0 else "lower"
            findings.add("dates", f"`{name}` is 1 {word} than the {part} of `{other}`", columns=(name, other))


def _check_moved_rows(findings: Findings, before: ReadTable, after: ReadTable, rows: Alignment) -> None:
    """Report columns whose values moved to the next row, or to the previous one."""
    if not isinstance(rows.after, slice) or before.rows != after.rows or before.rows < 10:  # noqa: PLR2004
        return
    whole = slice(0, min(after.rows, 2_000))
    for name, column in after.columns.items():
        if name not in before.columns or column.kind not in {"integer", "number", "time", "text"}:
            continue
        one, other = before.columns[name].keys(whole), column.keys(whole)
        if one is None or other is None or bool((one == other).mean() > 0.5) or len(np.unique(one)) < 5:  # noqa: PLR2004
            continue
        for step, word in ((1, "next"), (-1, "previous")):
            same = (other[step:] == one[:-step]) if step > 0 else (other[:step] == one[-step:])
            if same.mean() > 0.99:  # noqa: PLR2004 - the end may be filled
                findings.add("dates", f"values of `{name}` moved to the {word} row", columns=(name,))
