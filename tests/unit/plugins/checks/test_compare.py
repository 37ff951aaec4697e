"""The findings of comparisons: each kind of fault and ordinary step in the corpus, each with its seed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import agentnb
from agentnb.errors import UsageError
from tests.benchmarks.data_checks import independent
from tests.benchmarks.data_checks.corpus import alarms, faults, run_fault, run_ordinary
from tests.benchmarks.data_checks.tables import DEVELOPED, HELD_OUT

DOMAINS = (*DEVELOPED, *HELD_OUT)


@pytest.mark.parametrize("number", range(len(faults())))
def test_compare_finds_a_fault_with_its_cause_and_columns(number: int) -> None:
    fault, polars = faults()[number]
    checks, step, about = run_fault(fault, DOMAINS[number % 5], np.random.default_rng(number), polars=polars)
    right = [each for each in checks if each.cause in fault.causes and about in each.text + "".join(each.columns)]
    assert right != [], (step, checks)


@pytest.mark.parametrize("number", range(len(alarms())))
def test_compare_finds_nothing_in_an_ordinary_step(number: int) -> None:
    step, polars = alarms()[number]
    checks, code = run_ordinary(step, DOMAINS[number % 5], np.random.default_rng(number), polars=polars)
    assert checks.ok, (code, checks)


def test_compare_judges_nearly_all_independent_steps_correctly() -> None:
    result = independent.run(11)
    assert (result.faults, result.ordinary) == (40, 223)
    assert len(result.missed) <= 2, result.missed
    assert {step.code for step, _ in result.alarms} <= {  # intended conversions look like mistakes
        "quotes['volume'] = quotes['volume'] / 1e9",
        "book['tax'] = book['tax'] / 100",
    }, result.alarms


def test_compare_rejects_values_that_are_not_tables() -> None:
    with pytest.raises(UsageError, match="takes tables, or mappings of names to tables, not int"):
        agentnb.compare(1, 2)


def test_displayed_checks_escape_html_in_column_names() -> None:
    name = "<script>x</script>"
    before = pd.DataFrame({name: pd.date_range("2024-01-01", periods=9)})
    checks = agentnb.compare(before, before.astype(str))
    assert [each.cause for each in checks] == ["type"]
    assert "<script>" not in checks._repr_html_()
    assert checks.lines == (f"`table`: `{name}` became text (datetime64[us] → str)",)


def test_check_of_a_large_table_is_marked_as_sampled() -> None:
    before = pd.DataFrame({"n": np.arange(150_000), "price": np.arange(150_000) / 7 + 1})
    (check,) = agentnb.compare(before, before.assign(price=before["price"] * 100))
    assert (check.cause, check.is_sampled) == ("unit", True)
