"""The inside: generated updates, valid and invalid, which the mapper turns into a state."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentnb.acp.mapper import map_permission, merge
from agentnb.acp.updates import map_session
from agentnb.state import (
    ChatState,
    MarkdownResponsePart,
    SessionMode,
    SessionModes,
    XConfigOptionsChanged,
    XModesChanged,
    decode,
    encode,
)
from tests.unit.acp.recording_listener import applied, empty_chat, text_of


def chunk(text: str, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    """Returns an update with text."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}


def test_echo_of_the_prompt_does_not_show_again() -> None:
    """Whole, or in pieces before the answer."""
    chat, user = empty_chat("Hello there"), "user_message_chunk"
    for update in (chunk("Hello ", user), chunk("there", user), chunk("Hi"), chunk("Hello there", user)):
        chat = applied(chat, update)
    assert chat.active_turn is not None
    assert chat.active_turn.response_parts == (MarkdownResponsePart(id="p1", content="Hi"),)


def test_new_session_sets_modes_and_config_options() -> None:
    """The `models` of older agents become a config option; what is not readable is left out."""
    models = {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}, {"name": "no id"}]}
    modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {}]}
    option = {
        "id": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "m",
        "options": [{"value": "m", "name": "M", "description": ""}],
    }
    assert map_session({"sessionId": "s", "modes": modes, "models": models}) == (
        XModesChanged(modes=SessionModes(current_mode_id="ask", available_modes=(SessionMode(id="ask", name="Ask"),))),
        XConfigOptionsChanged(config_options=(option,)),
    )
    assert map_session({"sessionId": "s", "modes": None, "configOptions": None, "models": 3}) == ()


SPEAKERS = st.sampled_from(["agent_message_chunk", "agent_thought_chunk"])
IDS = st.sampled_from([{}, {"messageId": "1"}, {"messageId": "2"}])
CHUNKS = st.lists(st.builds(lambda text, kind, more: chunk(text, kind, **more), st.text(max_size=4), SPEAKERS, IDS))


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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = [
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "plan_update",
    "plan_removed",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "prompt_suggestions_update",
    "unheard_of",
]
FIELDS = [
    "content",
    "messageId",
    "toolCallId",
    "title",
    "name",
    "kind",
    "status",
    "locations",
    "rawInput",
    "rawOutput",
    "entries",
    "plan",
    "planId",
    "availableCommands",
    "currentModeId",
    "configOptions",
    "used",
    "size",
    "cost",
    "suggestions",
    "_meta",
]
STATUS = st.sampled_from(["pending", "in_progress", "completed", "failed"])
ITEMS = st.sampled_from([[{"type": "content", "content": {"type": "text", "text": "x"}}], [{"type": "diff"}], "x"])
VALUES = JSON | STATUS | ITEMS | st.sampled_from(["c1", {"type": "text", "text": "x"}, {"type": "text", "text": None}])
UPDATES = st.builds(
    lambda kind, fields: {**fields, "sessionUpdate": kind},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6),
)


@given(st.lists(UPDATES, max_size=6), st.sampled_from(["t1", "gone", None]), st.booleans())
def test_any_update_is_mapped_to_a_state_that_can_be_encoded(
    updates: list[dict[str, Any]], turn_id: str | None, running: bool
) -> None:
    """Also, the resulting state can be encoded and decoded."""
    chat = empty_chat("Hello") if running else empty_chat()
    for update in updates:
        chat = applied(chat, update, turn_id)
        map_permission({"toolCall": update, "options": [update]}, chat, turn_id, 1)
        map_session(update)
    assert encode(decode(ChatState, encode(chat))) == encode(chat)
