"""Whole turns of real agents: an edit, a command, permissions given and refused, a cancel, an old session.

The ``host`` fixture checks that no agent process is left after a test.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.host import Host
from agentnb.state import ToolCallPendingConfirmationState, ToolCallResponsePart
from tests.peers.agents import PEERS
from tests.unit.host.conftest import hosted, until

pytestmark = pytest.mark.peers
SECONDS = 180
Start = Callable[..., Session]


def pending(session: Session) -> list[str]:
    """Returns the pending tool calls' ids."""
    active = session.chat.active_turn
    parts = active.response_parts if active is not None else ()
    calls = [part.tool_call for part in parts if isinstance(part, ToolCallResponsePart)]
    return [call.tool_call_id for call in calls if isinstance(call, ToolCallPendingConfirmationState)]


def test_turn_with_allowed_edit_and_command_completes(start: Start, workspace: Path) -> None:
    turn = start("allow").prompt("[[write shell text]] Please do it.").wait(timeout=SECONDS).raise_for_error()
    assert turn.stop_reason == "end_turn"
    assert [call.status for call in turn.tool_calls] == ["completed", "completed"]
    assert (workspace / "hello.txt").read_text(encoding="utf-8").startswith("hello from the fake model")
    assert (workspace / "shell.txt").read_text(encoding="utf-8") == "hi-from-shell\n"
    assert turn.text.endswith('```python\nprint("hello")\n```\n')


def test_turn_with_denied_edit_and_command_changes_nothing(start: Start, workspace: Path) -> None:
    """The agent gets its own reject option: it does nothing, and the session takes the next prompt."""
    session = start("deny")
    turn = session.prompt("[[write shell text]] Please do it.").wait(timeout=SECONDS)
    assert turn.done
    assert list(workspace.iterdir()) == []
    assert "completed" not in [call.status for call in turn.tool_calls]
    assert session.prompt("Again. [[text]]").wait(timeout=SECONDS).raise_for_error().text


def test_undo_and_redo_cover_files_of_the_agent_tools(start: Start, workspace: Path) -> None:
    """A file that it wrote, one that it edited and one of its command; other files stay."""
    (workspace / "mine.txt").write_text("mine\n", encoding="utf-8")
    session = start("allow")
    written = session.prompt("[[write shell text]] Please do it.").wait(timeout=SECONDS).raise_for_error()
    first = (workspace / "hello.txt").read_text(encoding="utf-8")
    assert {change.name for change in written.changes} == {"hello.txt", "shell.txt"}
    edited = session.prompt("[[read edit text]] Now change it.").wait(timeout=SECONDS).raise_for_error()
    second = (workspace / "hello.txt").read_text(encoding="utf-8")
    assert second == first.replace("line two", "line 2 (edited)")
    assert [(change.name, change.status) for change in edited.changes] == [("hello.txt", "changed")]

    edited.undo()
    assert (workspace / "hello.txt").read_text(encoding="utf-8") == first
    written.undo()
    assert [path.name for path in workspace.iterdir()] == ["mine.txt"]
    written.redo()
    edited.redo()
    assert (workspace / "hello.txt").read_text(encoding="utf-8") == second
    assert (workspace / "shell.txt").read_text(encoding="utf-8") == "hi-from-shell\n"


def test_cancel_ends_a_turn_with_an_open_permission_request(host: Host, start: Start, workspace: Path) -> None:
    """The turn ends at once, the agent answers in time, its process takes the next prompt."""
    session = start("ask")
    turn = session.prompt("[[write]]")
    until(host, session, lambda: pending(session), SECONDS)
    process = session.health().pid
    turn.cancel()
    assert turn.wait(timeout=SECONDS).state == "cancelled"
    assert session.prompt("Again. [[text]]").wait(timeout=SECONDS).raise_for_error().text
    assert session.health().pid == process
    assert list(workspace.iterdir()) == []


def reopened(host: Host, start: Start, meanwhile: Callable[[], object] = lambda: None) -> tuple[Session, str, str]:
    """Returns an agent's session in a new process, how the host opened it, and the earlier answer.

    *meanwhile* is called when no process of the agent runs.
    """
    first = start("allow")
    text = first.prompt("Remember the tulips. [[text]]").wait(timeout=SECONDS).raise_for_error().text
    session_id = hosted(host, first).session_id
    assert session_id is not None
    first.close(timeout=60)
    meanwhile()
    second = start("allow")
    return second, host.loop.submit(hosted(host, second).lifecycle.reopen(session_id)).result(SECONDS), text


def again(session: Session) -> str:
    """Restarts; checks that nothing is shown twice; returns the next turn's first part."""
    texts = [turn.text for turn in session.turns]
    session.restart(timeout=SECONDS)
    assert [turn.text for turn in session.turns] == texts
    turn = session.prompt("Again. [[text]]").wait(timeout=SECONDS).raise_for_error()
    assert turn.snapshot is not None
    return str(turn.snapshot.response_parts[0])


@pytest.mark.parametrize("peer", [name for name in PEERS if PEERS[name].finds_sessions], indirect=True)
def test_old_session_loads_in_a_new_process_without_duplicates(host: Host, start: Start) -> None:
    """Its text is loaded; after a restart of that process nothing is shown twice or lost."""
    session, how, text = reopened(host, start)
    assert how == "loaded"
    until(host, session, lambda: text in "".join(turn.text for turn in session.turns), SECONDS)
    assert "tulips" in session.chat.turns[0].message.text
    assert "was given the conversation so far" not in again(session)


@pytest.mark.parametrize("peer", [name for name in PEERS if not PEERS[name].finds_sessions], indirect=True)
def test_agent_that_cannot_find_its_session_gets_a_new_one(host: Host, start: Start, tmp_path: Path) -> None:
    """Gemini CLI offers ``session/load``; without its files a new session opens.

    With its files, 0.61 finds it only if the minute has changed: file names have minutes, and one overwrites another.
    """
    session, how, _ = reopened(host, start, lambda: shutil.rmtree(tmp_path / "agent-home/.gemini/tmp"))
    assert how == "new"
    assert session.turns == ()
