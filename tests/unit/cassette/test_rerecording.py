"""A conversation recorded again: the cassette differs only where the conversation does."""

from __future__ import annotations

import random
import tempfile
import uuid
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.cassette.conversation import recorded, sections

WORDS = st.text("ab \n⟦é", min_size=1, max_size=12)
TURNS = st.lists(st.tuples(WORDS, WORDS, st.booleans()), min_size=1, max_size=4)


def shuffled(chance: random.Random, value: dict[str, Any]) -> dict[str, Any]:
    """Returns *value* with shuffled fields."""
    names = list(value)
    chance.shuffle(names)
    return {name: value[name] for name in names}


def pieces(chance: random.Random, text: str) -> list[str]:
    """Cuts *text* anywhere."""
    cuts = sorted(chance.sample(range(1, len(text)), min(len(text) - 1, chance.randrange(3)))) if text[1:] else []
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def talk(path: Path, turns: list[tuple[str, str, bool]], seed: int) -> bytes:
    """Records *turns*, with the ids, times, temporary folder, pieces and order of fields of this *seed*."""
    chance = random.Random(seed)
    with recorded(path, "mine") as conversation:
        session = conversation.begin(f"session-{uuid.UUID(int=chance.getrandbits(128))}")
        for prompt, answer, calls_tool in turns:
            request = conversation.prompt(session, prompt)
            if calls_tool:
                call = f"toolu_{chance.getrandbits(64):x}"
                path_ = f"/tmp/run-{chance.getrandbits(32):x}/out.txt"  # noqa: S108 - what an agent says
                fields = {"path": path_, "content": answer, "requestId": f"req-{chance.getrandbits(64)}"}
                started = 1_763_000_000_000 + chance.randrange(10**9)
                conversation.update(
                    session, "tool_call", toolCallId=call, title="Write", rawInput=shuffled(chance, fields),
                    _meta={"startedAt": started, "duration": chance.random()},
                )  # fmt: skip
                conversation.update(session, "tool_call_update", toolCallId=call, status="completed")
            conversation.says(session, *pieces(chance, answer))
            conversation.received(id=request, result={"stopReason": "end_turn"})
    return path.read_bytes()


def turns_of(path: Path) -> list[list[dict[str, Any]]]:
    """Returns the lines of each turn, without its pace."""
    found: list[list[dict[str, Any]]] = [[]]
    for row in sections(path)[1]:
        if row.get("method") == "session/prompt":
            found.append([])
        if "pace" not in row:
            found[-1].append(row)
    return found[1:]


@settings(deadline=None, max_examples=10)
@given(TURNS, st.integers(0, 99), st.integers(100, 199))
def test_second_recording_of_a_conversation_has_the_same_bytes(
    turns: list[tuple[str, str, bool]], first: int, second: int
) -> None:
    """With any ids, times, pace, temporary folders, pieces of text and order of fields."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fits.cassette.jsonl")
        before = talk(path, turns, first)
        assert talk(path, turns, second) == before


@settings(deadline=None, max_examples=10)
@given(TURNS, st.integers(0, 3), st.integers(0, 99))
def test_second_recording_differs_only_in_the_changed_turn(
    turns: list[tuple[str, str, bool]], number: int, seed: int
) -> None:
    """A diff shows a reviewer only the changes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fits.cassette.jsonl")
        talk(path, turns, seed)
        before = turns_of(path)
        number %= len(turns)
        changed = [
            (prompt, "other" if at == number else answer, tool) for at, (prompt, answer, tool) in enumerate(turns)
        ]
        talk(path, changed, seed + 100)
        after = turns_of(path)
        assert [at for at, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]] == [number]


def test_recording_keeps_the_order_of_fields(tmp_path: Path) -> None:
    """A replay shows a tool's input in the same order as the recording."""
    path = tmp_path / "fits.cassette.jsonl"
    with recorded(path, "mine") as conversation:
        session = conversation.begin()
        request = conversation.prompt(session, "Write.")
        conversation.update(
            session, "tool_call", toolCallId="1", title="Write", rawInput={"path": "a.txt", "content": "b"}
        )
        conversation.received(id=request, result={"stopReason": "end_turn"})
    _, update, *_ = turns_of(path)[0]
    assert list(update["params"]["update"]["rawInput"]) == ["path", "content"]
