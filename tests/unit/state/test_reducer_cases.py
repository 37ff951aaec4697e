"""The JSON cases of agentnb and of an external folder, on the Python reducers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentnb.testing import case_states, load_cases, run_reducer_case, skip_reason, without_nulls
from tests.unit.state.ahp_cases import FOLDER, ahp_cases, without_old_questions

ROOT = Path(__file__).parents[3]
OURS = ROOT / "tests/cases/reducer"
CASES_FOLDER = os.environ.get("AGENTNB_CASES")


def ahp_parameters() -> list[Any]:
    """Returns a parameter for each AHP case, or a skipped one."""
    cases = [parameter(name, case) for name, case in ahp_cases().items()]
    return cases or [pytest.param(None, id="none", marks=pytest.mark.skip(reason=f"no folder {FOLDER}"))]


def parameter(name: str, case: dict[str, Any]) -> Any:
    reason = skip_reason(case)
    marks = [pytest.mark.skip(reason=reason)] if reason else []
    return pytest.param(case, id=name, marks=marks)


def canonical(value: Any) -> str:
    """Returns JSON text, in which ``0`` is not ``false``."""
    return json.dumps(without_nulls(value), sort_keys=True, ensure_ascii=False)


GIVEN_CASES = [parameter(name, case) for name, case in load_cases(CASES_FOLDER).items()] if CASES_FOLDER else []


def check(case: dict[str, Any], seen: Callable[[Any], Any] = lambda state: state) -> None:
    """Runs a case; an unchanged state must be the same object."""
    assert canonical(case["expected"]) == canonical(seen(run_reducer_case(case))), case["description"]
    if canonical(case["expected"]) == canonical(case["initial"]):
        before, after = case_states(case)
        assert before is after, f"not the very same object: {case['description']}"


@pytest.mark.parametrize("case", [parameter(name, case) for name, case in load_cases(OURS).items()])
def test_reducer_case_ends_in_its_expected_state(case: dict[str, Any]) -> None:
    check(case)


@pytest.mark.parametrize("case", ahp_parameters())
def test_ahp_case_ends_in_its_expected_state(case: dict[str, Any]) -> None:
    """Each case of the Agent Host Protocol, if checked out, ends in its expected state."""
    check(case, without_old_questions)


@pytest.mark.skipif(not CASES_FOLDER, reason="AGENTNB_CASES names no folder")
@pytest.mark.parametrize("case", GIVEN_CASES or [pytest.param(None, id="none")])
def test_external_case_ends_in_its_expected_state(case: dict[str, Any]) -> None:
    """Each case in the folder ``AGENTNB_CASES`` ends in its expected state."""
    check(case)


def test_every_reducer_case_is_supported() -> None:
    assert {} == {name: reason for name, case in load_cases(OURS).items() if (reason := skip_reason(case))}
