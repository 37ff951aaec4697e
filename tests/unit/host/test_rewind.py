"""Going back: which turns are cut and undone, what the log keeps, and what the agent learns afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.errors import FilesConflict, SessionError, UsageError
from agentnb.state import ChatTruncated, MarkdownResponsePart
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import NewKernel, does, uri_of
from tests.unit.host.kernels import Kernel


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace; its changes are stored beside it."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def kernel(new_kernel: NewKernel, work: Path) -> Kernel:
    """A kernel with a log."""
    return new_kernel(work)


def writes(session: Session, work: Path) -> list[Turn]:
    """Runs three turns that write a file with known old text."""
    (work / "a.txt").write_text("zero\n")
    return [does(session, ["write", "a.txt", f"{text}\n"]) for text in ("one", "two", "three")]


def prompts(session: Session) -> list[str]:
    return [turn.message.text for turn in session.chat.turns]


def cut_ones(kernel: Kernel, session: Session) -> list[dict[str, Any]]:
    """Returns the history's rows of other conversations."""
    kernel.flush()
    rows = kernel.ask("listSessions")["sessions"]
    return [each for each in rows if each["uri"] != uri_of(session)]


def test_rewind_with_changes_undoes_the_turn_and_later_ones(kernel: Kernel, work: Path) -> None:
    """The transcript ends before it; the file is as it was then; the turn itself may have changed nothing."""
    session = kernel.start("writes_files")
    turns = writes(session, work)
    undone = session.rewind(turns[1], changes=True)
    assert [each.name for each in undone] == ["a.txt", "a.txt"]
    assert (work / "a.txt").read_text() == "one\n"
    assert [turn.id for turn in session.turns] == [turns[0].id]
    idle, _ = does(session), does(session, ["write", "b.txt", "b"])
    session.rewind(idle, changes=True)
    assert ((work / "b.txt").exists(), len(session.turns)) == (False, 1)


def test_rewind_does_not_undo_turns_that_were_cut_before(kernel: Kernel, work: Path) -> None:
    """Without changes it leaves files alone."""
    session = kernel.start("writes_files")
    turns = [does(session, ["write", f"{name}.txt", name]) for name in "abc"]
    assert len(session.rewind(turns[2])) == 0
    assert (work / "c.txt").exists()
    session.rewind(turns[1], changes=True)
    assert sorted(path.name for path in work.iterdir()) == ["a.txt", "c.txt"]


def test_rewind_does_nothing_until_a_conflict_is_resolved(kernel: Kernel, work: Path) -> None:
    """The history gets no copy until turns are cut; with a choice they are."""
    session = kernel.start("writes_files")
    turns = writes(session, work)
    (work / "a.txt").write_text("mine\n")
    with pytest.raises(FilesConflict, match=r"a\.txt"):
        session.rewind(turns[1], changes=True)
    assert ((work / "a.txt").read_text(), len(session.turns), cut_ones(kernel, session)) == ("mine\n", 3, [])
    session.rewind(turns[1], changes=True, choices={"a.txt": "mine"})
    assert ((work / "a.txt").read_text(), len(session.turns)) == ("mine\n", 1)


def test_history_keeps_a_copy_of_the_cut_turns(kernel: Kernel, work: Path) -> None:
    """A title says so; the conversation has only its remaining turns."""
    session = kernel.start("writes_files")
    turns = writes(session, work)
    session.rewind(turns[1])
    (kept,) = cut_ones(kernel, session)
    assert kept["title"] == f"{session.title} (before going back)"
    assert kept["uri"] not in kernel.open_sessions
    latest = {uri: kernel.ask("previewSession", channel=uri)["turns"] for uri in (kept["uri"], uri_of(session))}
    assert [len(each) for each in latest.values()] == [3, 1]
    stored = kernel.resume(kept["uri"], "writes_files")
    assert [turn.id for turn in stored.turns] == [turn.id for turn in turns]


def test_clearing_a_conversation_gives_it_a_new_title(kernel: Kernel) -> None:
    """After its next prompt; the history keeps the old turns."""
    session = kernel.start("writes_files")
    does(session)
    title = session.title
    session.rewind()
    assert (session.turns, session.title) == ((), "writes_files")
    assert [each["title"] for each in cut_ones(kernel, session)] == [f"{title} (cleared)"]
    session.prompt("[]  ").wait(PATIENCE)
    assert session.title == "[]"


def requests(session: Session, text: str) -> list[dict[str, Any]]:
    """Returns all requests to the agent."""
    return [json.loads(line) for line in session.prompt(text).wait(PATIENCE).text.splitlines()]


def test_agent_gets_a_new_session_and_transcript_after_rewind(kernel: Kernel) -> None:
    """The user's message comes first, unchanged; the chat does not show the transcript."""
    session = kernel.start("keeps", "resume", "close")
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
    assert "The conversation so far" in prompt_blocks[2][1]["text"]
    assert [each["method"] for each in messages].count("session/new") == 2
    assert [each["method"] for each in messages].count("session/resume") == 0
    assert prompts(session) == ["first", "again", "more"]
    parts = [part for turn in session.chat.turns for part in turn.response_parts]
    assert [part for part in parts if not isinstance(part, MarkdownResponsePart)] == []


def test_a_long_transcript_keeps_its_end(kernel: Kernel) -> None:
    """It has about 100,000 characters, and says that its beginning is left out."""
    session = kernel.start("echo")
    turns = [session.prompt(f"{at}: " + "x" * 10_000).wait(PATIENCE) for at in range(8)]
    session.rewind(turns[-1])
    text = session.prompt("Hi").wait(PATIENCE).text
    assert ("(Earlier messages are left out.)" in text, len(text) < 101_500) == (True, True)
    assert ("User: 0: x" in text, "User: 6: x" in text) == (False, True)


def test_impossible_rewind_is_refused(kernel: Kernel) -> None:
    """To a turn of another conversation, and while a turn runs."""
    session, other = kernel.start("writes_files"), kernel.start()
    does(session)
    with pytest.raises(UsageError, match="no turn"):
        session.rewind(other.prompt("/say x").wait(PATIENCE))
    turn = other.prompt("/hang")
    with pytest.raises(SessionError, match="is running"):
        other.rewind(turn)
    other.cancel()


def test_ahp_client_cuts_the_transcript_with_an_action(kernel: Kernel, work: Path) -> None:
    """It names the last turn that stays; the action sent to all clients has its origin."""
    session = kernel.start("writes_files")
    turns = writes(session, work)
    kernel.act(session, ChatTruncated(turn_id=turns[0].id))
    kernel.until(session, lambda: len(session.chat.turns) == 1)
    assert (work / "a.txt").read_text() == "three\n"


def test_restart_keeps_the_rewound_conversation(kernel: Kernel, new_kernel: NewKernel) -> None:
    """The agent's old session is not resumed: the agent gets the remaining transcript."""
    session = kernel.start("keeps", "resume")
    session.prompt("first").wait(PATIENCE)
    session.rewind(session.prompt("second").wait(PATIENCE))
    kernel.close()
    restored = new_kernel(kernel.folder).resume(session, "keeps", "resume")
    assert prompts(restored) == ["first"]
    messages = requests(restored, "again")
    assert [each["method"] for each in messages] == ["initialize", "session/new", "session/prompt"]
    assert "User: first" in messages[-1]["params"]["prompt"][1]["text"]


@pytest.mark.parametrize("was_undone", [False, True])
def test_restart_finishes_an_interrupted_rewind(
    kernel: Kernel, new_kernel: NewKernel, work: Path, was_undone: bool
) -> None:
    """Transcript and files fit, whether the kernel ended before or after the files were written."""
    session = kernel.start("writes_files")
    turns = writes(session, work)
    if was_undone:
        turns[1].undo(onwards=True)
    kernel.end_in_rewind(session, turns[1])
    second = new_kernel(work)
    restored = second.resume(session, "writes_files")
    second.until(restored, lambda: len(restored.chat.turns) == 1)
    assert (work / "a.txt").read_text() == "one\n"


def test_restart_cancels_an_interrupted_rewind_with_conflicts(
    kernel: Kernel, new_kernel: NewKernel, work: Path
) -> None:
    """All turns stay, the user's file stays, and the chat says so once."""
    session = kernel.start("writes_files")
    turns = writes(session, work)
    kernel.end_in_rewind(session, turns[1])
    (work / "a.txt").write_text("mine\n")
    for _ in range(2):
        later = new_kernel(work)
        restored = later.resume(session, "writes_files")
        later.until(restored, lambda: "went back" in str(restored.chat.turns[-1].response_parts[-1]))  # noqa: B023
        assert ((work / "a.txt").read_text(), len(restored.chat.turns)) == ("mine\n", 3)
        assert str(restored.chat.turns[-1]).count("went back") == 1
        later.close()
