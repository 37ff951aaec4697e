"""Compares tables before and after a step: ``agentnb.compare``."""

from __future__ import annotations

import contextlib
import logging
import warnings
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from agentnb.kernel.data_checks import DataChecks
from agentnb.plugins.checks.findings import Findings
from agentnb.plugins.checks.reading import is_lazy, is_table, table_of
from agentnb.plugins.checks.unread import compare_lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from logging import Logger

    from agentnb.plugins.checks.tables import ReadTable
    from agentnb.state import DataCheck

log: Logger = logging.getLogger("agentnb.checks")

MOST_TABLES = 50
"""The most tables that are compared: the last ones."""


def compare_tables(
    before: Mapping[str, ReadTable], after: Mapping[str, ReadTable], changed: Collection[str]
) -> tuple[DataCheck, ...]:
    """Returns what may be wrong with the tables of *after* that are named in *changed*."""
    checks: list[DataCheck] = []
    with warnings.catch_warnings(), contextlib.suppress(ImportError):  # without NumPy, nothing is compared
        warnings.simplefilter("ignore")
        for name in changed:
            if name in after:
                checks += _checked(before, after, after[name], changed)
    return without_repeats(checks)


def without_repeats(checks: Sequence[DataCheck]) -> tuple[DataCheck, ...]:
    """Returns *checks* without a second mention of rows that two parts have in common."""
    kept: list[DataCheck] = []
    for each in checks:
        if each.cause == "leakage" and any(one.cause == "leakage" and one.text == each.text for one in kept):
            continue
        kept.append(each)
    return tuple(kept)


def _checked(
    before: Mapping[str, ReadTable], after: Mapping[str, ReadTable], table: ReadTable, changed: Collection[str]
) -> list[DataCheck]:
    # Imported here, as they import NumPy, which is not loaded unless there is a table.
    from agentnb.plugins.checks import column_checks, date_checks, joins, row_checks, split_checks

    same = before.get(table.name)
    sources = [*before.values(), *(each for name, each in after.items() if name not in before and each is not table)]
    sources += [each for name, each in after.items() if name in before and name in changed and each is not table]
    first, rows = _origin(same, sources, table)
    findings = Findings(same, table)
    run = partial(_run, table.name)
    joined = run(joins.find_joins, table, _different(sources), same) or []
    for join in joined:
        if same is None:
            findings.before = join.left
        run(joins.check_join, findings, join)
    if first is not None and rows is not None:
        run(column_checks.check_columns, findings, first, table, rows, sources)
        run(date_checks.check_dates, findings, first, table, rows)
        if not joined:
            run(column_checks.check_new_columns, findings, first, table)
            run(date_checks.check_period, findings, first, table, rows)
            run(row_checks.check_groups_of_rows, findings, first, table, rows)
    run(date_checks.check_derived_dates, findings, first, table)
    if not joined and (first is None or table.rows > first.rows):
        parts = [each for each in sources if set(table.columns) <= set(each.columns)]
        run(row_checks.check_repeated, findings, parts or ([] if first is None else [first]), table)
    if not joined and rows is None:
        run(row_checks.check_summary, findings, _different(sources), table)
        run(joins.check_total, findings, _different(sources))
    if same is not None:
        run(row_checks.check_index, findings, same, table)
        run(row_checks.check_order, findings, same, table)
    for train, test in split_checks.pairs_of(table, after):
        run(split_checks.check_split, findings, train, test, before)
    run(split_checks.check_target, findings, table, after)
    return findings.checks


def _run(table: str, check: Callable[..., Any], *arguments: Any) -> Any:
    """Run a check: one that fails, because another thread writes to the table, finds nothing."""
    try:
        return check(*arguments)
    except Exception:
        log.debug("A check of %s failed", table, exc_info=True)
        return None


def _different(tables: Sequence[ReadTable]) -> list[ReadTable]:
    """Returns each table object once."""
    seen: dict[int, ReadTable] = {}
    for each in tables:
        seen.setdefault(id(each.native), each)
    return [*seen.values()][-MOST_TABLES:]


def _origin(same: ReadTable | None, sources: Sequence[ReadTable], table: ReadTable) -> tuple[ReadTable | None, Any]:
    """Returns the table that *table* was made from, and the alignment of their rows, None if that is not known."""
    from agentnb.plugins.checks.alignment import align

    candidates = [] if same is None else [same]
    shared = {id(each): len(set(each.columns) & set(table.columns)) for each in sources}
    near = [each for each in sources if each is not same and shared[id(each)] * 2 > table.width]
    candidates += sorted(near, key=lambda each: (-shared[id(each)], abs(each.rows - table.rows)))
    for each in candidates[:5]:
        rows = None
        with contextlib.suppress(Exception):
            rows = align(each, table)
        if rows is not None:
            return each, rows
    return same, None


def compare(before: Any, after: Any, *more: Any, name: str = "table", **options: Any) -> DataChecks:
    """Returns what may be wrong with tables after a step, compared with the tables before it.

    It finds rows that a join repeats or loses, duplicate rows, rows that are in two parts which should have nothing in
    common, lost groups, missing values, values of another type or in another unit, and shifted dates. It looks at keys
    and values, not at the code. Nothing leaves this process, and the tables are not changed. If a table has more than
    60,000 rows, it reads some of them, evenly spaced: ``is_sampled`` of a check says so.

    Args:
        before: A table (pandas, polars, Arrow, a NumPy array), or a mapping of names to all tables. Include tables that
            did not change: the tables of a join show what its result should be. Lazy tables (Dask,
            ``polars.LazyFrame``) are not computed: their columns and partitions are compared.
        after: The same after the step. A table that is the same object as before counts as unchanged.
        more: The former form, ``compare(prompt, agents, inputs)``: now :func:`agentnb.compare_agents`.
        name: The table's name, if *before* or *after* is a single table.
        options: Options of the former form.

    Returns:
        :class:`agentnb.DataChecks`: empty, and therefore ``ok``, if there is nothing to look at.

    Example:
        >>> agentnb.compare({"orders": orders, "customers": customers},
        ...                 {"orders": merged, "customers": customers})  # doctest: +SKIP
        `orders` rows 10,412 → 31,980: `id` is not unique in `customers` (3 keys)
    """
    if more or "inputs" in options:
        return _compare_agents(before, after, *more, **options)  # type: ignore[no-any-return]
    olds, news = (_tables(each, name) for each in (before, after))
    tables = {each: table for each, value in news.items() if (table := table_of(value, each)) is not None}
    known = {each: table for each, value in olds.items() if (table := table_of(value, each)) is not None}
    changed = [each for each in news if each not in olds or olds[each] is not news[each]]
    lazy = (compare_lazy(each, olds.get(each), news[each]) for each in changed if is_lazy(news[each]))
    return DataChecks((*compare_tables(known, tables, changed), *chain.from_iterable(lazy)))


def _tables(value: Any, name: str) -> Mapping[str, Any]:
    from collections.abc import Mapping as AnyMapping

    from agentnb.errors import UsageError

    if is_table(value) or is_lazy(value):
        return {name: value}
    if isinstance(value, AnyMapping):
        return {str(each): value[each] for each in value}
    raise UsageError(
        f"compare takes tables, or mappings of names to tables, not {type(value).__name__}.",
        hint='agentnb.compare({"orders": before}, {"orders": after})',
    )


def _compare_agents(*arguments: Any, **options: Any) -> Any:
    import agentnb

    message = (
        "agentnb.compare(prompt, agents, inputs) is agentnb.compare_agents now; compare(before, after) is of tables."
    )
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return agentnb.compare_agents(*arguments, **options)
