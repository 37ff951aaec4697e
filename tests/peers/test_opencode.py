"""A whole turn of a real agent: OpenCode, with a tool call and a permission."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import psutil
import pytest

import agentnb

if TYPE_CHECKING:
    from agentnb import Session

    Started = dict[Literal["allow", "deny"], Session]

pytestmark = pytest.mark.peers
SECONDS = 120
MODES: tuple[Literal["allow", "deny"], ...] = ("allow", "deny")


def descendants() -> set[psutil.Process]:
    """Every process below this one."""
    return set(psutil.Process().children(recursive=True))


@pytest.fixture
def started(opencode: str, environment: dict[str, str], workspace: Path) -> Iterator[Started]:
    """Sessions with OpenCode by permission mode; afterwards no process of theirs is left."""
    sessions = {
        mode: agentnb.start(command=[opencode, "acp"], env=environment, cwd=workspace, permissions=mode)
        for mode in MODES
    }
    yield sessions
    running = {process for process in descendants() if _is_opencode(process)}
    assert running
    for session in sessions.values():
        session.close()
    _, alive = psutil.wait_procs(running, timeout=20)
    assert alive == []


def _is_opencode(process: psutil.Process) -> bool:
    return any("opencode" in word for word in process.cmdline())


def test_a_turn_with_a_tool_call_that_is_allowed(started: Started, workspace: Path) -> None:
    """The shell tool runs after a permission, its output is seen, and the answer comes whole."""
    turn = started["allow"].prompt("[[shell]] Please run it.").wait(timeout=SECONDS).raise_for_error()
    assert turn.stop_reason == "end_turn"
    assert [call.status for call in turn.tool_calls] == ["completed"]
    assert (workspace / "shell.txt").read_text(encoding="utf-8") == "hi-from-shell\n"
    assert "Let me think about it." in turn.thoughts
    assert turn.text.startswith("I will call bash.")
    assert turn.text.endswith('```python\nprint("hello")\n```\n')
    assert turn.usage is not None


def test_a_turn_with_a_tool_call_that_is_denied(started: Started, workspace: Path) -> None:
    """The agent is told no by its own option: nothing runs, and the session takes the next prompt."""
    turn = started["deny"].prompt("[[shell]] Please run it.").wait(timeout=SECONDS)
    assert turn.done
    assert not (workspace / "shell.txt").exists()
    assert "completed" not in [call.status for call in turn.tool_calls]
    again = started["deny"].prompt("Just talk.").wait(timeout=SECONDS)
    assert "Done." in again.text
