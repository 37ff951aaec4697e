"""The tests that ``make test`` leaves out exist."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.thorough import THOROUGH, WITH_IPYKERNEL_6, is_thorough


def test_every_listed_thorough_test_exists() -> None:
    """A list with a wrong name would leave out too little or too much."""
    names = (each.partition("[")[0].partition("::") for each in (*THOROUGH, *WITH_IPYKERNEL_6))
    wrong = [file + name for file, _, name in names if f"def {name}" not in (ROOT / "tests" / file).read_text("utf-8")]
    assert wrong == []


def test_second_kernel_is_thorough_unless_listed() -> None:
    assert is_thorough("tests/kernel/test_history.py::test_kept[ipykernel6]")
    assert not is_thorough("tests/kernel/test_history.py::test_kept[ipykernel7]")
    assert not is_thorough("tests/kernel/test_agent_magic.py::test_magic_works_inside_other_code[ipykernel6-1]")
