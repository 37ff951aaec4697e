"""Checks numbers whose unit a step changed, in all rows, in some, or in the added ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from agentnb.plugins.checks.findings import counted
from agentnb.plugins.checks.snippets import within

if TYPE_CHECKING:
    from agentnb.plugins.checks.alignment import Pair
    from agentnb.plugins.checks.findings import Findings
    from agentnb.plugins.checks.tables import Array, ReadTable

_FACTORS = (
    *(10.0**power for power in range(1, 10)),
    *(60.0, 3_600.0, 86_400.0, 1_440.0, 24.0, 7.0, 12.0, 365.0, 365.25, 52.0),  # times
    *(2.54, 25.4, 0.3048, 30.48, 0.9144, 1.609344, 1.609, 1.852),  # lengths
    *(0.45359237, 0.4536, 453.59237, 28.349523125, 28.35),  # weights
    *(3.785411784, 4.184, 4.1868, 1_024.0, 1_024.0**2, 1_024.0**3, 6.89475729, 101.325, 133.322),
    180 / math.pi,
)
"""Factors between units."""
_SAME = 1e-6
_FEW = 5
"""Number of rows that is too small to recognize a unit."""


def check_numbers(findings: Findings, after: ReadTable, pair: Pair) -> None:
    """Report a changed unit: in all rows, in some, or in those that were added."""
    first, second = pair.parts()
    was, now = pair.before.numbers(first), pair.after.numbers(second)
    name = pair.name
    sampled = after.is_large
    if len(was) >= _FEW and (conversion := _conversion(was, now)):
        if math.isclose(float(np.nanmax(np.abs(now))), 1.0, rel_tol=1e-9):
            return  # all values were divided by the largest one
        code = within(after, name, _between(was, now))
        findings.add("unit", f"values of `{name}` {conversion}", columns=(name,), code=code, is_sampled=sampled)
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        changed = (was != now) & np.isfinite(was) & np.isfinite(now)
    if changed.any() and not changed.all():
        conversion = _conversion(was[changed], now[changed])
        if conversion and _moves_away(was, now, changed):
            count = round(int(changed.sum()) * pair.rows.total / len(changed))
            compared = " than before" if conversion.startswith("are") else ""
            text = f"{counted(count, 'value')} of `{name}` {conversion}{compared}"
            code = within(after, name, _between(was[changed], now[changed]))
            findings.add("unit", text, count=count, columns=(name,), code=code, is_sampled=sampled)
    _check_added(findings, after, pair, now)


def _conversion(was: Array, now: Array) -> str:
    """Returns how all values were converted to another unit; '' if they were not."""
    factor = common_factor(was, now)
    if factor is not None and _is_unit(factor):
        return f"are {_times(factor)}"
    scales = _degrees(was, now)
    return scales and f"were converted {scales}"


def _check_added(findings: Findings, after: ReadTable, pair: Pair, known: Array) -> None:
    """Report added rows whose values differ from all others by the factor of a unit."""
    appended = pair.rows.appended
    if appended is None or len(appended) < _FEW or (pair.after.kind == "integer" and after.is_unique(pair.name)):
        return  # identifiers of rows continue
    new = np.abs(pair.after.numbers(appended[:: max(1, len(appended) // 100_000)]))
    old = np.abs(known)
    new, old = new[np.isfinite(new) & (new > 0)], old[np.isfinite(old) & (old > 0)]
    if len(new) < _FEW or len(old) < _FEW:
        return
    factor = float(np.median(new) / np.median(old))
    near = min(_FACTORS, key=lambda each: min(abs(math.log(factor / each)), abs(math.log(factor * each))))
    unit = near if factor > 1 else 1 / near
    low, middle, high = np.quantile(old, [0.1, 0.5, 0.9])
    scaled = np.quantile(new / unit, [0.1, 0.5, 0.9])
    spread = math.log(high / low)
    noise = math.exp(0.2 + 2 * spread / math.sqrt(min(len(new), len(old))))  # tolerance: larger for few rows
    alike = all(1 / noise < one / other < noise for one, other in zip(scaled, (low, middle, high), strict=True))
    apart = bool(np.quantile(new, 0.1) > middle * 2 or np.quantile(new, 0.9) < middle / 2)
    if apart and alike and near >= 7:  # noqa: PLR2004 - smaller factors are no evidence
        text = f"values of `{pair.name}` in {counted(len(appended), 'added row')} are {_times(unit)} than the others"
        code = within(after, pair.name, math.sqrt(unit) * float(np.median(old)))
        findings.add("unit", text, count=len(appended), columns=(pair.name,), code=code)


def common_factor(was: Array, now: Array) -> float | None:
    """Returns the factor between all values; None if there is no single one, or it is 1."""
    few = slice(0, None, max(1, len(was) // _FIRST))
    if len(was) > 2 * _FIRST and (was[few] * now[few] > 0).any() and common_factor(was[few], now[few]) is None:
        return None
    usable = np.isfinite(was) & np.isfinite(now) & (was != 0)
    if not usable.any() or bool(((was == 0) & (now != 0) & np.isfinite(now)).any()):
        return None
    ratios = now[usable] / was[usable]
    middle = float(np.median(ratios))
    near = np.abs(ratios - middle) <= abs(middle) * 1e-4
    rounded = np.abs(now[usable] - was[usable] * middle) <= 0.51  # noqa: PLR2004 - rounded to whole numbers
    is_one = bool(near.all()) or (abs(middle) > 1 and bool((near | rounded).all()) and bool(near.mean() > _EQUAL_SHARE))
    return middle if is_one and abs(middle - 1) > _SAME else None


_EQUAL_SHARE = 0.5
_FIRST = 1_000
"""Rows that are sampled before all rows are checked."""


def _is_unit(factor: float) -> bool:
    for each in _FACTORS:
        tolerance = 1e-4 if each in _ROUND else 2e-3
        if any(math.isclose(factor, unit, rel_tol=tolerance) for unit in (each, 1 / each)):
            return True
    return False


_ROUND = {10.0**power for power in range(1, 10)} | {60.0, 24.0, 7.0, 12.0, 3_600.0}


def _times(factor: float) -> str:
    larger = factor > 1
    number = factor if larger else 1 / factor
    text = f"{round(number):,}" if abs(number - round(number)) < 0.005 * number and number > 9 else f"{number:.3g}"  # noqa: PLR2004
    return f"{text}× {'larger' if larger else 'smaller'}"


def _between(was: Array, now: Array) -> float:
    """Returns a limit between the old and the new values; twice the old ones if the values fell."""
    old, new = float(np.nanmedian(np.abs(was))), float(np.nanmedian(np.abs(now)))
    return math.sqrt(old * new) if new > old > 0 else old * 2


def _degrees(was: Array, now: Array) -> str:
    """Returns between which scales temperatures were converted; '' if they were not."""
    usable = np.isfinite(was) & np.isfinite(now)
    was, now = was[usable], now[usable]
    if len(was) < _FEW or bool((was == was[0]).all()):
        return ""
    few = slice(0, None, max(1, len(was) // _FIRST))
    for scale, (factor, added) in _SCALES.items():
        parts = ((was[rows] * factor + added, now[rows]) for rows in (few, slice(None)))
        if all(bool(np.allclose(one, other, rtol=0, atol=0.06)) for one, other in parts):
            return scale
    return ""


_SCALES = {"°C → °F": (1.8, 32.0), "°F → °C": (1 / 1.8, -32 / 1.8), "°C → K": (1.0, 273.15), "K → °C": (1.0, -273.15)}


def _moves_away(was: Array, now: Array, changed: Array) -> bool:
    """True if the changed values moved away from the others: correcting a unit moves them nearer."""
    rest = was[~changed]
    rest = np.abs(rest[np.isfinite(rest) & (rest != 0)])
    if not len(rest):
        return True
    middle = math.log(float(np.median(rest)))
    before, after = (math.log(max(1e-300, float(np.median(np.abs(each[changed]))))) for each in (was, now))
    return abs(after - middle) > abs(before - middle)
