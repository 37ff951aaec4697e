"""Going back: which turns are cut and undone, what the log keeps, and what the agent learns afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb import Session, Turn
from agentnb.agent import AgentSpec
from agentnb.agent.catalog import custom, find
from agentnb.errors import FilesConflict, SessionError, UsageError
from agentnb.host import Host
from agentnb.host.agents.agent_lifecycle import LABEL, MOST_CHARACTERS, transcript
from agentnb.host.history.restore import read_back, recorder_of, restore
from agentnb.host.intents import carry_out
from agentnb.host.session_options import SessionOptions
from agentnb.log.record import SessionRecord
from agentnb.state import ActiveTurn, ChatTruncated, MarkdownResponsePart
from agentnb.state import Turn as TurnState
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import CLIENT, hosted, until


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace; its changes are stored beside it."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def logged(tmp_path: Path, work: Path) -> Iterator[Host]:
    del work
    host = Host(log=tmp_path / "log/sessions.db")
    yield host
    host.close()


def spec(script: str, *able: str) -> AgentSpec:
    return custom([sys.executable, str(AGENTS / f"{script}.py"), *able], name=script)


def begin(host: Host, work: Path, script: str = "writes_files", *able: str) -> Session:
    described = spec(script, *able)
    return Session(host.loop.call(lambda: host.open(described, cwd=work)))


def does(session: Session, *steps: list[Any]) -> Turn:
    return session.prompt(json.dumps(steps)).wait(PATIENCE)


def writes(session: Session, work: Path) -> list[Turn]:
    """Runs three turns that write a file with known old text."""
    (work / "a.txt").write_text("zero\n")
    return [does(session, ["write", "a.txt", f"{text}\n"]) for text in ("one", "two", "three")]


def prompts(session: Session) -> list[str]:
    return [turn.message.text for turn in session.chat.turns]


def cut_ones(host: Host, session: Session) -> list[SessionRecord]:
    return [each for each in recorder_of(host).store.sessions() if each.tab_id != session.tab_id]


def test_rewind_with_changes_undoes_the_turn_and_later_ones(logged: Host, work: Path) -> None:
    """The transcript ends before it; the file is as it was then."""
    session = begin(logged, work)
    turns = writes(session, work)
    undone = session.rewind(turns[1], changes=True)
    assert [each.name for each in undone] == ["a.txt", "a.txt"]
    assert (work / "a.txt").read_text() == "one\n"
    assert [turn.id for turn in session.turns] == [turns[0].id]


def test_rewind_without_changes_leaves_files_alone(logged: Host, work: Path) -> None:
    """The changes of the cut turns can still be undone for the conversation."""
    session = begin(logged, work)
    turns = writes(session, work)
    assert len(session.rewind(turns[1])) == 0
    assert (work / "a.txt").read_text() == "three\n"
    assert len(session.turns) == 1


def test_rewind_does_not_undo_turns_that_were_cut_before(logged: Host, work: Path) -> None:
    session = begin(logged, work)
    turns = [does(session, ["write", f"{name}.txt", name]) for name in "abc"]
    session.rewind(turns[2])
    session.rewind(turns[1], changes=True)
    assert sorted(path.name for path in work.iterdir()) == ["a.txt", "c.txt"]


def test_rewind_to_a_turn_without_changes_undoes_later_ones(logged: Host, work: Path) -> None:
    session = begin(logged, work)
    idle = does(session)
    does(session, ["write", "b.txt", "b"])
    session.rewind(idle, changes=True)
    assert not (work / "b.txt").exists()
    assert session.turns == ()


def test_rewind_does_nothing_until_a_conflict_is_resolved(logged: Host, work: Path) -> None:
    """The history gets no copy until turns are cut; with a choice they are."""
    session = begin(logged, work)
    turns = writes(session, work)
    (work / "a.txt").write_text("mine\n")
    with pytest.raises(FilesConflict, match=r"a\.txt"):
        session.rewind(turns[1], changes=True)
    assert ((work / "a.txt").read_text(), len(session.turns), cut_ones(logged, session)) == ("mine\n", 3, [])
    assert hosted(logged, session).changes.record.rewinding is None
    session.rewind(turns[1], changes=True, choices={"a.txt": "mine"})
    assert ((work / "a.txt").read_text(), len(session.turns)) == ("mine\n", 1)


def test_history_keeps_a_copy_of_the_cut_turns(logged: Host, work: Path) -> None:
    """A title says so; the conversation has only its remaining turns, also in a search."""
    session = begin(logged, work)
    turns = writes(session, work)
    session.rewind(turns[1])
    (kept,) = cut_ones(logged, session)
    store = recorder_of(logged).store
    assert (kept.title, kept.turns, kept.open) == (f"{session.title} (before going back)", 3, False)
    assert [each.turn_id for each in store.latest_turns(kept.uri, -1)] == [turn.id for turn in turns]
    assert len(store.latest_turns(hosted(logged, session).session.uri, -1)) == 1
    stored = read_back(recorder_of(logged), kept.tab_id)
    assert [turn.id for turn in stored.chat.turns] == [turn.id for turn in turns]


def test_clearing_a_conversation_gives_it_a_new_title(logged: Host, work: Path) -> None:
    """After its next prompt; the history keeps the old turns."""
    session = begin(logged, work)
    does(session)
    title = session.title
    session.rewind()
    assert (session.turns, session.title) == ((), hosted(logged, session).spec.title)
    assert [each.title for each in cut_ones(logged, session)] == [f"{title} (cleared)"]
    session.prompt("[]  ").wait(PATIENCE)
    assert session.title == "[]"


def requests(session: Session, text: str) -> list[dict[str, Any]]:
    """Returns all requests to the agent."""
    return [json.loads(line) for line in session.prompt(text).wait(PATIENCE).text.splitlines()]


def test_agent_gets_a_new_session_and_transcript_after_rewind(logged: Host, work: Path) -> None:
    """The user's message comes first, unchanged; the chat does not show the transcript."""
    session = begin(logged, work, "keeps", "resume", "close")
    session.prompt("first").wait(PATIENCE)
    second = session.prompt("second").wait(PATIENCE)
    session.rewind(second)
    requests(session, "again")
    messages = requests(session, "more")
    prompt_blocks = [each["params"]["prompt"] for each in messages if each["method"] == "session/prompt"]
    assert [each[0]["text"] for each in prompt_blocks] == ["first", "second", "again", "more"]
    assert [len(each) for each in prompt_blocks] == [1, 1, 2, 1]
    assert "User: first" in prompt_blocks[2][1]["text"]
    assert "second" not in prompt_blocks[2][1]["text"]
    assert LABEL in prompt_blocks[2][1]["text"]
    assert [each["method"] for each in messages].count("session/new") == 2
    assert [each["method"] for each in messages].count("session/resume") == 0
    assert prompts(session) == ["first", "again", "more"]
    parts = [part for turn in session.chat.turns for part in turn.response_parts]
    assert [part for part in parts if not isinstance(part, MarkdownResponsePart)] == []


def test_running_turn_cannot_be_rewound(logged: Host, work: Path) -> None:
    session = Session(logged.loop.call(lambda: logged.open(find("eliza"), cwd=work)))
    turn = session.prompt("/hang")
    with pytest.raises(SessionError, match="is running"):
        session.rewind(turn)
    session.cancel()


def test_rewind_to_a_turn_of_another_conversation_is_refused(logged: Host, work: Path) -> None:
    session, other = begin(logged, work), begin(logged, work)
    does(session)
    with pytest.raises(UsageError, match="no turn"):
        session.rewind(does(other))


def test_ahp_client_cuts_the_transcript_with_an_action(logged: Host, work: Path) -> None:
    """It names the last turn that stays; the action sent to all clients has its origin."""
    session = begin(logged, work)
    turns = writes(session, work)
    conversation = hosted(logged, session)
    action = ChatTruncated(turn_id=turns[0].id)
    logged.loop.call(carry_out, logged, conversation.chat.uri, action, CLIENT)
    until(logged, session, lambda: len(session.chat.turns) == 1)
    assert (work / "a.txt").read_text() == "three\n"


def again(host: Host, session: Session) -> Session:
    stored = read_back(recorder_of(host), session.tab_id)
    options = SessionOptions(spec=spec(stored.record.agent), cwd=Path())
    return Session(host.loop.call(lambda: restore(host, stored, options)))


def test_restart_keeps_the_rewound_conversation(tmp_path: Path, work: Path) -> None:
    """The agent's old session is not resumed: the agent gets the remaining transcript."""
    first = Host(log=tmp_path / "log/sessions.db")
    session = begin(first, work, "keeps", "resume")
    session.prompt("first").wait(PATIENCE)
    session.rewind(session.prompt("second").wait(PATIENCE))
    first.close()
    second = Host(log=tmp_path / "log/sessions.db")
    stored = read_back(recorder_of(second), session.tab_id)
    assert (len(stored.chat.turns), stored.record.agent_session) == (1, None)
    options = SessionOptions(spec=spec("keeps", "resume"), cwd=Path())
    restored = Session(second.loop.call(lambda: restore(second, stored, options)))
    messages = requests(restored, "again")
    assert [each["method"] for each in messages] == ["initialize", "session/new", "session/prompt"]
    assert "User: first" in messages[-1]["params"]["prompt"][1]["text"]
    second.close()


@pytest.mark.parametrize("was_undone", [False, True])
def test_restart_finishes_an_interrupted_rewind(tmp_path: Path, work: Path, was_undone: bool) -> None:
    """Transcript and files fit, whether the kernel ended before or after the files were written."""
    first = Host(log=tmp_path / "log/sessions.db")
    session = begin(first, work)
    turns = writes(session, work)
    tracker = hosted(first, session).changes
    if was_undone:
        turns[1].undo(onwards=True)
    first.loop.submit(tracker.save(replace(tracker.record, rewinding=turns[1].id))).result(PATIENCE)
    first.close()
    second = Host(log=tmp_path / "log/sessions.db")
    restored = again(second, session)
    until(second, restored, lambda: len(restored.chat.turns) == 1)
    assert (work / "a.txt").read_text() == "one\n"
    second.close()


def test_restart_cancels_an_interrupted_rewind_with_conflicts(tmp_path: Path, work: Path) -> None:
    """All turns stay, the user's file stays, and the chat says so once."""
    first = Host(log=tmp_path / "log/sessions.db")
    session = begin(first, work)
    turns = writes(session, work)
    tracker = hosted(first, session).changes
    first.loop.submit(tracker.save(replace(tracker.record, rewinding=turns[1].id))).result(PATIENCE)
    first.close()
    (work / "a.txt").write_text("mine\n")
    second = Host(log=tmp_path / "log/sessions.db")
    restored = again(second, session)
    until(second, restored, lambda: "went back" in str(restored.chat.turns[-1].response_parts[-1]))
    assert ((work / "a.txt").read_text(), len(restored.chat.turns)) == ("mine\n", 3)
    assert hosted(second, restored).changes.record.rewinding is None
    second.close()


def test_a_long_transcript_keeps_its_end(logged: Host, work: Path) -> None:
    """It says that its beginning is left out."""
    session = begin(logged, work)
    does(session)
    (turn,) = session.chat.turns
    assert not isinstance(turn, ActiveTurn)
    many: list[TurnState] = [
        replace(turn, message=replace(turn.message, text=f"{at}: " + "x" * 10_000)) for at in range(100)
    ]
    text = transcript(many)
    assert len(text) <= MOST_CHARACTERS + 1_000
    assert text.startswith("(Earlier messages are left out.)")
    assert "User: 99: x" in text
