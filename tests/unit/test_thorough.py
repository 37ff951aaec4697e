"""The tests that ``make test`` leaves out exist."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.thorough import THOROUGH, WITH_IPYKERNEL_6, is_thorough


def test_each_test_that_is_left_out_or_kept_by_name_exists() -> None:
    """A list with a wrong name would leave out too little or too much."""
    names = (each.partition("[")[0].partition("::") for each in (*THOROUGH, *WITH_IPYKERNEL_6))
    wrong = [file + name for file, _, name in names if f"def {name}" not in (ROOT / "tests" / file).read_text("utf-8")]
    assert wrong == []


def test_second_kind_of_kernel_is_left_out_but_where_it_is_kept_by_name() -> None:
    assert is_thorough("tests/kernel/test_history.py::test_kept[ipykernel6]")
    assert not is_thorough("tests/kernel/test_history.py::test_kept[ipykernel7]")
    assert not is_thorough("tests/kernel/test_agent_magic.py::test_magic_works_inside_other_code[ipykernel6-1]")
