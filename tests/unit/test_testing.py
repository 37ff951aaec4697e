"""The shipped test tools: their messages if a case cannot be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentnb.errors import ProtocolError, UsageError
from agentnb.testing import load_cases, run_reducer_case, skip_reason


def test_case_of_an_unknown_channel_is_an_error() -> None:
    """The error has the reason for which the case would be skipped."""
    case = {"description": "it rains", "reducer": "weather", "initial": {}, "actions": [], "expected": {}}
    assert "agentnb has no weather channel" == skip_reason(case)
    with pytest.raises(UsageError, match="'it rains' cannot be run: agentnb has no weather channel"):
        run_reducer_case(case)


def test_case_with_a_malformed_state_is_an_error() -> None:
    with pytest.raises(ProtocolError, match="agents"):
        run_reducer_case({"reducer": "root", "initial": {}, "actions": []})


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "is not a reducer case"), ("{}", "needs")])
def test_file_that_is_not_a_case_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    """The error names it."""
    (tmp_path / "wrong.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        load_cases(tmp_path)
    assert "wrong.json" in str(caught.value)


def test_folder_without_cases_is_an_error(tmp_path: Path) -> None:
    """Otherwise missing cases would pass."""
    with pytest.raises(UsageError, match="No reducer case"):
        load_cases(tmp_path)
    with pytest.raises(UsageError, match="No reducer case"):
        load_cases(tmp_path / "missing")
