"""Merging consecutive chunks of text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentnb.acp.mapper import merge
from tests.unit.acp.recording_listener import applied, empty_chat, text_of


def chunk(text: str, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    """Returns an update with text."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}


KINDS = st.sampled_from(["agent_message_chunk", "agent_thought_chunk"])
IDS = st.sampled_from([{}, {"messageId": "1"}, {"messageId": "2"}])
CHUNKS = st.lists(st.builds(lambda text, kind, more: chunk(text, kind, **more), st.text(max_size=4), KINDS, IDS))


@given(CHUNKS)
def test_merging_chunks_gives_the_same_chat(updates: list[dict[str, Any]]) -> None:
    one, other = empty_chat("hi"), empty_chat("hi")
    for update in updates:
        one = applied(one, update)
    for update in merge(updates):
        other = applied(other, update)
    assert one == other
    text = "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == "agent_message_chunk")
    assert text_of(one) == text
