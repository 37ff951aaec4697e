"""The inside: what a replay compares, to which turn a file belongs, and that what is written is read back exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentnb.cassette import file
from agentnb.cassette.compare import difference
from agentnb.cassette.large_content import LARGE, folder_of
from agentnb.cassette.marks import SessionMarks
from agentnb.cassette.mcp import CHANGED
from agentnb.cassette.proxy import TurnFiles
from agentnb.cassette.recording import PROMPT, Header, RecordedExchange, WireEvent
from tests.unit.cassette.conversation import HOME, WORK, recorded


def answer(text: str, *changed: str, picture: str = "", recorded_by_old: bool = False) -> dict[str, Any]:
    """Returns an answer of run_code."""
    blocks = [{"type": "text", "text": text}, *([{"type": "image", "data": picture}] if picture else [])]
    meta = {} if recorded_by_old else {"_meta": {CHANGED: [*changed]}}
    return {"content": blocks, "isError": False, **meta}


@pytest.mark.parametrize(
    ("recorded", "today", "line"),
    [
        (answer("42", "x added"), answer("42", "x added"), None),
        (answer("42", "x added"), answer("43", "x added"), "+43"),
        (answer("42", "x added"), answer("42", "x changed"), "+@ variable x changed"),
        (answer("", picture="a"), answer("", picture="b"), "+@ image , 1 characters, 3e23e8160039"),
        (answer("42", recorded_by_old=True), answer("43", "x added"), None),
    ],
)
def test_different_output_or_changes_of_code_are_a_mismatch(
    recorded: dict[str, Any], today: dict[str, Any], line: str | None
) -> None:
    """Text, pictures and variables; old recordings have no variables and are compared without them."""
    ask = WireEvent(kind="asked", method="mcp/message", params={"method": "tools/call", "params": {"name": "run_code"}})
    then = WireEvent(kind="answered", result=recorded)
    mismatch = difference(ask, then, today, None, header=Header())
    assert (mismatch is None) is (line is None)
    assert line is None or line in str(mismatch).splitlines()
    assert difference(ask, then, today, None, header=Header(answers="outcome")) is None


def test_overlapping_turns_give_file_changes_to_the_first_to_end(tmp_path: Path) -> None:
    """So no change belongs to two turns."""
    messages: list[str] = []
    turn_files = TurnFiles(lambda path: path.name == "own", lambda path: path.name == "notebook", messages.append)
    first, second, lost = (RecordedExchange(method=PROMPT, params={}) for _ in range(3))
    try:
        turn_files.begin(first, str(tmp_path))
        (tmp_path / "a").write_text("1")
        turn_files.begin(second, str(tmp_path))
        for name in ("b", "own", "notebook"):
            (tmp_path / name).write_text("1")
        assert [row.path for row in turn_files.end(second)] == ["a", "b"]
        (tmp_path / "c").write_text("1")
        assert [row.path for row in turn_files.end(first)] == ["c"]
        for cwd in (str(tmp_path / "nowhere"), str(tmp_path / "nowhere"), "relative", None):
            turn_files.begin(lost, cwd)
            assert turn_files.end(lost) == []
    finally:
        turn_files.close()
    turn_files.begin(first, str(tmp_path))
    assert turn_files.end(first) == []
    assert len(messages) == 1
    assert messages[0].endswith("nowhere are not recorded: there is no such folder.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fits.cassette.jsonl"


def test_recording_stores_large_content_in_separate_files(path: Path) -> None:
    """By its hash; unused content is removed, and text that looks like a reference stays text."""
    for text in ("a" * LARGE, "b" * LARGE):
        with recorded(path) as talk:
            session = talk.begin()
            request = talk.prompt(session, "Look", {"type": "image", "mimeType": "image/png", "data": text})
            talk.update(session, "tool_call", toolCallId="t", rawInput={"$file": "../../etc/passwd"})
            talk.received(id=request, result={"stopReason": "end_turn"})
        assert len(list(folder_of(path).iterdir())) == 1
        assert max(map(len, path.read_text(encoding="utf-8").splitlines())) < 2000
        turn = file.read(path).sections[1].turns[0]
        assert turn.params["prompt"][1]["data"] == text
        assert turn.before[0].params["update"]["rawInput"] == {"$file": "../../etc/passwd"}


def test_texts_that_look_like_marks_are_restored_exactly(path: Path) -> None:
    text = "⟦home⟧ ⟦ ⟧ ⟦sign⟧ {{x}} \u2028 é 🎈"
    with recorded(path) as talk:
        talk.turn(talk.begin(), text, "ok")
    turn = file.read(path).sections[1].turns[0]
    assert SessionMarks(WORK, home=HOME).fill(turn.params["prompt"][0]["text"]) == text
