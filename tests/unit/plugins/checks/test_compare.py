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
def test_fault_is_found_with_its_cause_and_names(number: int) -> None:
    fault, polars = faults()[number]
    checks, step, about = run_fault(fault, DOMAINS[number % 5], np.random.default_rng(number), polars=polars)
    right = [each for each in checks if each.cause in fault.causes and about in each.text + "".join(each.columns)]
    assert right != [], (step, checks)


@pytest.mark.parametrize("number", range(len(alarms())))
def test_ordinary_step_says_nothing(number: int) -> None:
    step, polars = alarms()[number]
    checks, code = run_ordinary(step, DOMAINS[number % 5], np.random.default_rng(number), polars=polars)
    assert checks.ok, (code, checks)


def test_steps_of_somebody_who_had_not_read_the_checks_are_judged_right_but_for_few() -> None:
    result = independent.run(11)
    assert (result.faults, result.ordinary) == (40, 223)
    assert len(result.missed) <= 2, result.missed
    assert {step.code for step, _ in result.alarms} <= {  # intended conversions look like mistakes
        "quotes['volume'] = quotes['volume'] / 1e9",
        "book['tax'] = book['tax'] / 100",
    }, result.alarms


def test_comparison_of_other_things_than_tables_says_what_it_takes() -> None:
    with pytest.raises(UsageError, match="takes tables, or mappings of names to tables, not int"):
        agentnb.compare(1, 2)


def test_checks_when_displayed_are_a_table_and_run_nothing_that_stands_in_it() -> None:
    name = "<script>x</script>"
    before = pd.DataFrame({name: pd.date_range("2024-01-01", periods=9)})
    checks = agentnb.compare(before, before.astype(str))
    assert [each.cause for each in checks] == ["type"]
    assert "<script>" not in checks._repr_html_()
    assert checks.lines == (f"`table`: `{name}` became text (datetime64[us] → str)",)


def test_large_table_of_which_a_part_is_read_says_so() -> None:
    before = pd.DataFrame({"n": np.arange(150_000), "price": np.arange(150_000) / 7 + 1})
    (check,) = agentnb.compare(before, before.assign(price=before["price"] * 100))
    assert (check.cause, check.is_sampled) == ("unit", True)
