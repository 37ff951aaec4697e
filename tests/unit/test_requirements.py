"""The table of requirements names existing tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests/REQUIREMENTS.md"
ROW = re.compile(r"^\| ([A-Z]\d+) \| .+? \| (.+?) \| .*\|$", re.MULTILINE)
ROWS = ROW.findall(TABLE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("row", "tests"), ROWS, ids=[row for row, _ in ROWS])
def test_every_requirement_names_existing_tests(row: str, tests: str) -> None:
    """Each file, and the named test in it."""
    named = re.findall(r"`([^`]+?)::([^`]*)`", tests)
    gone = [f"{file}::{test}" for file, test in named if not _there(file, test)]
    assert (named != [], gone) == (True, []), row


def test_every_requirement_appears_once() -> None:
    """The test reads every line of the table."""
    lines = re.findall(r"^\| [A-Z]\d", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len({row for row, _ in ROWS}) == len(ROWS) == len(lines)


def _there(file: str, test: str) -> bool:
    path = ROOT / file if file.startswith("js/") else ROOT / "tests" / file
    if not path.exists():
        return False
    text = path.read_text(encoding="utf-8")
    return test in text if file.startswith("js/") else not test or f"def test_{test}(" in text
