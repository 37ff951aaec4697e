"""Merging consecutive chunks of text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentnb.acp.mapper import merge
from tests.unit.acp.recording_listener import applied, empty_chat, text_of


def chunk(text: str, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    """An update with text."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}


def test_neighbours_of_one_message_become_one() -> None:
    """Only text of the same kind and message joins."""
    updates = [chunk("a"), chunk("b"), chunk("c", messageId="1"), chunk("d", messageId="1"), chunk("e", messageId="2")]
    merged = [(update.get("messageId"), update["content"]["text"]) for update in merge(updates)]
    assert merged == [(None, "ab"), ("1", "cd"), ("2", "e")]


def test_what_carries_more_than_text_stays_alone() -> None:
    """`_meta`, annotations, other blocks and other updates are never merged away."""
    updates = [
        chunk("a", _meta={"x": 1}),
        chunk("b"),
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "c", "annotations": {}}},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "", "mimeType": "image/png"}},
        {"sessionUpdate": "plan", "entries": []},
        {"sessionUpdate": "agent_message_chunk", "content": None},
        {},
    ]
    assert merge(updates) == updates


KINDS = st.sampled_from(["agent_message_chunk", "agent_thought_chunk"])
IDS = st.sampled_from([{}, {"messageId": "1"}, {"messageId": "2"}])
CHUNKS = st.lists(st.builds(lambda text, kind, more: chunk(text, kind, **more), st.text(max_size=4), KINDS, IDS))


@given(CHUNKS)
def test_merging_changes_nothing_that_can_be_seen(updates: list[dict[str, Any]]) -> None:
    """The chat is the same with and without it."""
    one, other = empty_chat("hi"), empty_chat("hi")
    for update in updates:
        one = applied(one, update)
    for update in merge(updates):
        other = applied(other, update)
    assert one == other
    said = "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")
    assert text_of(one) == said
