"""Runs one step of the corpus and compares the tables before and after it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import agentnb
from agentnb import DataChecks
from tests.benchmarks.data_checks import steps
from tests.benchmarks.data_checks.tables import Domain, names_of, tables_of


def faults() -> list[tuple[steps.Fault, bool]]:
    """The planted faults, each with True for polars."""
    return [*((each, False) for each in steps.FAULTS), *((each, True) for each in steps.POLARS_FAULTS)]


def alarms() -> list[tuple[str, bool]]:
    """The ordinary steps likewise."""
    return [*((each, False) for each in steps.ORDINARY), *((each, True) for each in steps.POLARS_ORDINARY)]


def run_fault(
    fault: steps.Fault, domain: Domain, rng: np.random.Generator, *, polars: bool
) -> tuple[DataChecks, str, str]:
    """Returns the findings, the step, and the expected name."""
    checks, text = _run(domain, rng, fault.step, fault.before, polars=polars)
    return checks, text, _named(fault.about, domain)


def run_ordinary(step: str, domain: Domain, rng: np.random.Generator, *, polars: bool) -> tuple[DataChecks, str]:
    code, _, before = step.partition("|")
    return _run(domain, rng, code, before, polars=polars)


def _named(text: str, domain: Domain, *, some: int = 0, seed: int = 0) -> str:
    for short, name in sorted(names_of(domain).items(), key=lambda each: -len(each[0])):
        text = text.replace(f"@{short}", name)
    return text.replace("SOME", str(some)).replace("SEED", str(seed))


def _run(domain: Domain, rng: np.random.Generator, step: str, before: str, *, polars: bool) -> tuple[DataChecks, str]:
    tables: dict[str, Any] = tables_of(domain, rng)
    some, seed = int(rng.integers(3, 25)), int(rng.integers(1, 10_000))
    if polars:
        tables = {name: pl.from_pandas(each) for name, each in tables.items()}
    code = [_named(each, domain, some=some, seed=seed) for each in (before, step)]
    return compared(tables, *code), code[1]


def compared(tables: dict[str, Any], before: str, step: str) -> DataChecks:
    """Returns the findings about *step*, a cell that runs after *before*."""
    scope: dict[str, Any] = {"pd": pd, "np": np, "pl": pl, **tables}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(before, scope)  # noqa: S102 - the steps are ours
        known = {name: _kept(value) for name, value in scope.items() if not name.startswith("__")}
        same = {name: id(value) for name, value in scope.items()}
        exec(step, scope)  # noqa: S102
    after = {name: value for name, value in scope.items() if not name.startswith("__")}
    for name, value in after.items():  # an object with the same id is unchanged, unless the step wrote to it
        if name in known and same.get(name) == id(value) and _equal(known[name], value):
            known[name] = value
    return agentnb.compare(known, after)


def _kept(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.copy(deep=False) if isinstance(value, (pd.DataFrame, pd.Series)) else value


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one.equals(other)) if isinstance(one, (pd.DataFrame, pd.Series)) else one is other
