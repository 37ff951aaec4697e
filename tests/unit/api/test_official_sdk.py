"""An agent built on the official SDK: agentnb works with another implementation of ACP."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentnb
from agentnb import PermissionRequest, Session
from tests.unit.api.conftest import AGENTS, PATIENCE


class Copying:
    """A session with that agent, and its permission requests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answer = "allow"
        self.requests: list[PermissionRequest] = []
        command = [sys.executable, str(AGENTS / "sdk.py")]
        self.session: Session = agentnb.start(command=command, cwd=folder, permissions=self._decide)

    def _decide(self, request: PermissionRequest) -> str:
        self.requests.append(request)
        return self.answer


@pytest.fixture(scope="module")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copying]:
    """All tests share it, since the SDK takes a second to load."""
    copying = Copying(tmp_path_factory.mktemp("sdk"))
    (copying.folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    yield copying
    copying.session.close()


def test_allowed_tool_call_reads_and_writes_files(copying: Copying) -> None:
    """It covers file requests, a permission request, updates and text chunks."""
    copying.answer = "allow"
    turn = copying.session.prompt("copy a.txt b.txt").wait(PATIENCE)
    (call,) = turn.tool_calls
    assert (copying.folder / "b.txt").read_text(encoding="utf-8") == "one\ntwo\n"
    assert [Path(path).name for path in copying.requests[-1].paths] == ["b.txt"]
    assert (call.kind, call.status, call.title) == ("edit", "completed", "Copy")
    assert (turn.text, turn.stop_reason) == ("Copied 8 characters.", "end_turn")


def test_denied_tool_call_writes_nothing(copying: Copying) -> None:
    """The agent gets the chosen option."""
    copying.answer = "deny"
    turn = copying.session.prompt("copy a.txt c.txt").wait(PATIENCE)
    assert (turn.text, (copying.folder / "c.txt").exists()) == ("I leave it.", False)


def test_unreadable_file_fails_the_turn_with_the_error_of_the_sdk(copying: Copying) -> None:
    """The SDK answers the prompt with agentnb's error."""
    turn = copying.session.prompt("copy none.txt d.txt").wait(PATIENCE, check=False)
    assert turn.state == "error"
    assert turn.error is not None
    assert "none.txt" in turn.error.message


def test_cancel_ends_a_turn_of_an_sdk_agent(copying: Copying) -> None:
    """The agent receives `session/cancel` while it serves the prompt."""
    turn = copying.session.prompt("wait")
    assert next(iter(turn)) == "Waiting."
    turn.cancel()
    turn.wait(PATIENCE, check=False)
    assert (turn.state, turn.stop_reason, turn.text) == ("cancelled", "cancelled", "Waiting.")
