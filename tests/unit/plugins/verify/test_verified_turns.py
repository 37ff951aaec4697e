"""Verified turns: an agent breaks a notebook, gets the findings, fixes it, and only then is its turn done."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import agentnb
from agentnb import Session, Turn, UsageError
from agentnb.state import SystemNotificationResponsePart
from tests.unit.api.conftest import AGENTS, PATIENCE

pytestmark = pytest.mark.slow
SCRIPT = [sys.executable, str(AGENTS / "mends_notebooks.py")]


def notices(turn: Turn) -> list[str]:
    snapshot = turn.snapshot
    assert snapshot is not None
    parts = snapshot.response_parts
    return [str(each.content) for each in parts if isinstance(each, SystemNotificationResponsePart)]


def test_verified_turn_sends_findings_until_the_agent_fixes_them(start: Callable[..., Session]) -> None:
    """One turn has the fault, its fix, and the verification."""
    turn = start(command=SCRIPT, verify=True).prompt("Sum them").wait(PATIENCE * 4)
    assert turn.state == "complete"
    assert turn.text == "Written.Mended: True."
    first, last = notices(turn)
    assert first.startswith("Not verified. made.ipynb: Cell [1] would fail: `numbers`")
    assert last.startswith("made.ipynb: verified (1 of 1 cells run")


def test_verified_turn_ends_after_three_failed_fixes(start: Callable[..., Session]) -> None:
    """The user gets the findings then."""
    turn = start(command=[*SCRIPT, "never"], verify=True).prompt("Sum them").wait(PATIENCE * 8)
    assert turn.text == "Written." * 4
    noted = notices(turn)
    assert len(noted) == 4
    assert noted[-1].endswith("The agent tried 3 times to fix it. Now it is your turn.")


def test_verify_argument_of_a_prompt_checks_only_that_turn(start: Callable[..., Session]) -> None:
    session = start(command=SCRIPT)
    assert notices(session.prompt("Sum", verify=True).wait(PATIENCE * 4)) != []
    assert notices(session.prompt("Sum").wait(PATIENCE)) == []


def test_setting_each_turn_reports_findings_only_to_the_user(
    start: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTNB_VERIFY", "each turn")
    turn = start(command=SCRIPT).prompt("Sum them").wait(PATIENCE * 4)
    assert turn.text == "Written."
    assert len(notices(turn)) == 1


def test_verified_batch_fixes_each_notebook_before_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each input has a copy of the folder: the answer comes after the fix."""
    monkeypatch.chdir(tmp_path)
    batch = agentnb.map(
        "Sum {input}", ["a", "b"], command=SCRIPT, verify=True, permissions="allow", cwd="isolated", progress=False
    )
    assert [each.endswith("Mended: True.") for each in batch] == [True, True]


def test_verified_turn_without_notebook_changes_has_no_notices(start: Callable[..., Session]) -> None:
    turn = start("echo", verify=True).prompt("Hello").wait(PATIENCE)
    assert notices(turn) == []


def test_cancelled_verified_turn_sends_no_further_prompt(start: Callable[..., Session]) -> None:
    session = start(command=SCRIPT, verify=True)
    turn = session.prompt("Sum them")
    assert any("Written" in piece for piece in turn)
    turn.cancel()
    turn.wait(PATIENCE)
    assert turn.state == "cancelled"
    assert "Mended" not in turn.text


def test_verify_argument_must_be_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="verify must be True or False"):
        agentnb.start("eliza", cwd=tmp_path, verify="yes")  # type: ignore[arg-type]
