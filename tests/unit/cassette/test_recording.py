"""Recording: messages become lines that read well, differ little from run to run, and replay unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.cassette.conversation import (
    HOME,
    WORK,
    Conversation,
    lines,
    recorded,
    recorder,
    sections,
    turns,
    write_lines,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fits.cassette.jsonl"


def test_recording_replaces_paths_and_session_ids_with_marks(path: Path) -> None:
    """The workspace, as a path, in a URL and without its root; the home; the session; also in a cut path."""
    with recorded(path) as talk:
        session = talk.begin("ses-0123456789")
        request = talk.prompt(session, f"See {WORK}/a.csv, {HOME}/.bashrc and {WORK}2.")
        talk.says(session, "In file://", WORK[:9], f"{WORK[9:]}/a.csv, or {WORK[1:]}/b, not /srv{WORK}.")
        talk.received(id=request, result={"stopReason": "end_turn", "_meta": {"log": f"/var/{session}.log"}})
    text = path.read_text(encoding="utf-8")
    assert "See ⟦workspace⟧/a.csv, ⟦home⟧/.bashrc and ⟦home⟧/fits2." in text
    assert '"In file://"' in text
    assert '"⟦workspace⟧"' in text
    assert "/a.csv, or ⟦workspace without root⟧/b, not /srv" in text
    assert "/var/⟦session⟧.log" in text


def test_recording_separates_concurrent_sessions(path: Path) -> None:
    """In the order in which they were opened; updates may come before the session is known."""
    orders = []
    for order in ((0, 1), (1, 0)):
        with recorded(path) as talk:
            talk.received(id=talk.request("initialize"), result={})
            opening = [talk.request("session/new", cwd=WORK, mcpServers=[]) for _ in range(2)]
            for number in order:
                talk.update(
                    f"ses-number-{number}", "available_commands_update", availableCommands=[{"name": str(number)}]
                )
                talk.received(id=opening[number], result={"sessionId": f"ses-number-{number}"})
            requests = {number: talk.prompt(f"ses-number-{number}", f"I am {number}") for number in order}
            for piece in "abc":
                for number in order:
                    talk.says(f"ses-number-{number}", f"{piece}{number}")
            for number in reversed(order):
                talk.received(id=requests[number], result={"stopReason": "end_turn"})
        found = sections(path)
        orders.append([[row["params"] for row in section if "params" in row] for section in found])
        assert [section[0].get("session", 0) for section in found] == [0, 1, 2]
        updates = [row["params"]["update"] for row in found[1] if row.get("method") == "session/update"]
        assert ["a0", "b0", "c0"] == [each["content"]["text"] for each in updates if "content" in each]
    assert orders[0] == orders[1]


def test_recording_stores_several_agents_by_name(path: Path) -> None:
    """Processes of the same agent have numbers."""
    recording = recorder(path)
    for name in ("zed", "ada", "zed"):
        talk = Conversation(recording.tap(name))
        talk.turn(talk.begin(), f"I am {name}", "Hi")
    recording.close()
    heads = [(section[0]["agent"], section[0]["launch"], section[0].get("session", 0)) for section in sections(path)]
    assert heads == [("ada", 1, 0), ("ada", 1, 1), ("zed", 1, 0), ("zed", 1, 2), ("zed", 2, 0), ("zed", 2, 3)]


def test_new_recording_keeps_the_comparison_rules(path: Path) -> None:
    """The user may have changed them."""
    with recorded(path) as talk:
        talk.turn(talk.begin(), "Hello", "Hi")
    rules = {"rules": [{"name": "run", "pattern": r"run \d+"}], "answers": "outcome"}
    head, *others = lines(path)
    write_lines(path, [{**head, **rules}, *others])
    with recorded(path) as talk:
        talk.turn(talk.begin(), "Hello again", "Hi")
    assert lines(path)[0].items() >= rules.items()


def test_secret_known_later_is_removed_from_earlier_messages(path: Path) -> None:
    """Another agent starts with a key."""
    recording = recorder(path)
    talk = Conversation(recording.tap("someone"))
    session = talk.begin()
    for _ in range(3):
        talk.turn(session, "Say it", "hush-", "hush-1234")
    assert "hush-1234" in path.read_text(encoding="utf-8")
    recording.tap("other", {"API_TOKEN": "hush-hush-1234"})
    recording.close()
    assert "hush" not in path.read_text(encoding="utf-8")


def said_in(path: Path, order: str) -> list[dict[str, object]]:
    """Records two turns of one session, with the agent's other messages in this *order*."""
    sends: dict[str, tuple[str, dict[str, Any]]] = {
        "c": ("available_commands_update", {"availableCommands": []}),
        "u": ("usage_update", {"used": 1, "size": 2}),
        "s": ("prompt_suggestions_update", {"suggestions": SUGGESTED}),
        "w": ("prompt_suggestions_update", {"suggestions": []}),
    }
    path.unlink(missing_ok=True)  # otherwise equal messages would come from the old file
    with recorded(path) as talk:
        session, number = talk.begin(), 0
        for step in order:
            if step in sends:
                kind, fields = sends[step]
                talk.update(session, kind, **fields)
            elif step == "a":
                talk.says(session, "Hi")
                talk.received(id=number, result={"stopReason": "end_turn"})
            else:
                number = talk.prompt(session, step)
        talk.says(session, "Bye")
        talk.received(id=number, result={"stopReason": "end_turn"})
    return [row for row in lines(path) if "pace" not in row and "end" not in row]


SUGGESTED = [{"prompt": [{"type": "text", "text": "Plot it"}]}]


def test_recording_gives_announcements_a_fixed_position(path: Path) -> None:
    """Even if they cross the client's prompt on the way: a second recording differs in its pace only."""
    recorded = [said_in(path, order) for order in ("c1au2", "1cau2", "c1a2u", "1ca2u", "1ca2u")]
    assert all(rows == recorded[0] for rows in recorded)
    kinds = [row["params"]["update"]["sessionUpdate"] for row in recorded[0] if row.get("method") == "session/update"]  # type: ignore[index]
    assert kinds == [
        "available_commands_update", "agent_message_chunk", "usage_update", "agent_message_chunk",
    ]  # fmt: skip


def test_suggestions_are_recorded_in_the_turn_they_follow(path: Path) -> None:
    """Even if they cross the next prompt; their withdrawal is in the turn that this prompt begins."""
    assert said_in(path, "1a2s") == said_in(path, "1as2")
    rows = [row for row in said_in(path, "1as2w") if row.get("method") in {"session/prompt", "session/update"}]
    suggestions = [row["params"].get("update", {}).get("suggestions") for row in rows]  # type: ignore[attr-defined]
    assert [each for each in suggestions if each is not None] == [SUGGESTED, []]
    assert [row["method"] for row in rows] == [
        *("session/prompt", "session/update", "session/update"),
        *("session/prompt", "session/update", "session/update"),
    ]


def recorded_turns(path: Path, *prompts: str) -> str | None:
    """Records a turn for each prompt; returns the notice."""
    recording = recorder(path)
    talk = Conversation(recording.tap("someone"))
    session = talk.begin()
    for prompt in prompts:
        talk.turn(session, prompt, 20_000 * "x" if prompt == "large" else "Hi")
    recording.close()
    return recording.word


def test_interrupted_recording_keeps_the_longer_old_cassette(path: Path) -> None:
    """The old one is kept beside it, with its large content, until a new one is as long."""
    assert recorded_turns(path, "one", "large", "three") is None
    old = path.with_name("fits.cassette.old.jsonl")
    for _ in range(2):  # the second recording breaks off, too
        word = recorded_turns(path, "one")
        assert word is not None
        assert "has 1 turns now and had 3 before" in word
        assert str(old) in word
        assert (turns(path), turns(old)) == (1, 3)
    assert recorded_turns(path, "one", "two", "large") is None
    assert sorted(each.name for each in path.parent.iterdir()) == ["fits.cassette.files", "fits.cassette.jsonl"]
