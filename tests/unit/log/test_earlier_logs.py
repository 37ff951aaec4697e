"""The inside: a log that agentnb 0.2 wrote (``tests/cases/logs/0.2.db``) is read without loss.

A session that is opened from it has changed already: its open question is closed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agentnb.log.store import LogStore
from agentnb.state import (
    ErrorResponsePart,
    InputRequestResponsePart,
    SessionStatus,
    ToolCallCompletedState,
    ToolCallResponsePart,
    UnknownResponsePart,
    waiting_requests,
)
from agentnb.state.change import milliseconds
from tests.conftest import ROOT

ELIZA = "eliza:/11111111-2222-4333-8444-555555555555"
ASKS = "asks_user:/21111111-2222-4333-8444-555555555555"


@pytest.fixture
def store(tmp_path: Path) -> LogStore:
    """An opened copy of the log."""
    shutil.copy(ROOT / "tests/cases/logs/0.2.db", tmp_path / "sessions.db")
    return LogStore(tmp_path / "sessions.db", "host", lambda _error: None)


def test_session_of_0_2_has_its_turns_and_settings(store: LogStore) -> None:
    """From a snapshot with finished turns, and from later entries."""
    stored = store.load(ELIZA)
    turns = stored.chat.turns
    assert stored.gap is None
    assert [(turn.message.text, turn.state) for turn in turns] == [
        ("/say the first answer", "complete"),
        ("/fail", "error"),
        ("/hang", "cancelled"),
        ("/run echo hello", "complete"),
        ("/say after a restart", "complete"),
    ]
    errors = [turn.error.message if turn.error is not None else None for turn in turns]
    assert errors == [None, "ELIZA returned an error: eliza failed on purpose.", None, None, None]
    for turn in turns:
        assert milliseconds(turn.started_at or "") > 1_795_792_000_000
        assert 0 <= (turn.duration or 0) < 60_000
    assert turns[3].duration
    calls = [part.tool_call for part in turns[3].response_parts if isinstance(part, ToolCallResponsePart)]
    assert [type(call) for call in calls] == [ToolCallCompletedState]
    assert [type(part) for part in turns[1].response_parts] == [ErrorResponsePart]
    assert [terminal.output for terminal in stored.chat.terminals or ()] == ["hello\n"]
    session = stored.session  # version 0.2 kept its metadata in a summary
    assert (session.provider, session.title, session.lifecycle) == ("eliza", "A log of 0.2", "ready")
    assert session.working_directories == ("file:///tmp/example",)
    assert session.config is not None
    assert session.config.values["permissions"] == "ask"


def test_questions_of_0_2_keep_their_place(store: LogStore) -> None:
    """One was answered, the other was open when the kernel ended."""
    chat = store.load(ASKS).chat
    (answered,) = [part for part in chat.turns[0].response_parts if isinstance(part, InputRequestResponsePart)]
    assert (answered.response, chat.turns[0].state) == ("accept", "complete")
    assert [request.message for request in waiting_requests(chat)] == ["Which way?"]
    assert chat.active_turn is not None
    assert isinstance(chat.active_turn.response_parts[-1], InputRequestResponsePart)
    assert chat.status & SessionStatus.INPUT_NEEDED == SessionStatus.INPUT_NEEDED
    parts = [part for uri in (ELIZA, ASKS) for turn in store.load(uri).chat.turns for part in turn.response_parts]
    assert not [part for part in parts if isinstance(part, UnknownResponsePart)]
