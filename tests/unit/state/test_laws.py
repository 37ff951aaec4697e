"""Laws of the reducers, for any sequence of actions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb.state import (
    ActiveTurn,
    ChangesetState,
    ChatDelta,
    ChatReasoning,
    ChatState,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    ReasoningResponsePart,
    RootState,
    SessionState,
    TerminalState,
    TerminalView,
    UserMessageResponsePart,
    XTerminalData,
    XTerminalOpened,
    XUserMessageDelta,
    decode,
    decode_action,
    encode,
    reduce_changeset,
    reduce_chat,
    reduce_root,
    reduce_session,
    reduce_terminal,
)
from tests.unit.state.strategies import actions, kinds, on_the_wire

OUTPUT_LIMIT = 65_536
"""The characters of a terminal's output that the state keeps (docs/reference/protocol.md)."""
HELLO = Message(text="Hello", origin=MessageOrigin(kind="user"))
EPOCH = "1970-01-01T00:00:00.000Z"
CHAT = ChatState(resource="1", title="", status=1, modified_at=EPOCH, turns=())
RUNNING = ChatState(
    resource="1",
    title="",
    status=8,
    modified_at=EPOCH,
    turns=(),
    active_turn=ActiveTurn(id="1", message=HELLO, response_parts=()),
)
CHANNELS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "root": (reduce_root, RootState(agents=())),
    "session": (reduce_session, SessionState(provider="eliza", title="", status=1, lifecycle="creating", chats=())),
    "chat": (reduce_chat, CHAT),
    "running chat": (reduce_chat, RUNNING),
    "terminal": (reduce_terminal, TerminalState(title="", content=(), lifecycle={}, claim={})),
    "changeset": (reduce_changeset, ChangesetState(status="computing", files=())),
}
channels = pytest.mark.parametrize("channel", CHANNELS)


def actions_of(channel: str) -> st.SearchStrategy[Any]:
    return actions(kinds(channel.rsplit(maxsplit=1)[-1]))


@channels
@given(data=st.data())
def test_reducer_keeps_the_object_of_what_does_not_change(channel: str, data: st.DataObject) -> None:
    """The whole state, and each of its fields."""
    reducer, state = CHANNELS[channel]
    for action in data.draw(st.lists(actions_of(channel), max_size=25)):
        after = reducer(state, action)
        assert after is state or on_the_wire(after) != on_the_wire(state), action
        for name in state.__struct_fields__:
            old, new = getattr(state, name), getattr(after, name)
            kept = new is old or type(new) in {int, str} or on_the_wire(new) != on_the_wire(old)
            assert kept, (name, action)
        state = after


@channels
@given(data=st.data())
def test_decoded_actions_give_the_same_state_as_live_ones(channel: str, data: st.DataObject) -> None:
    """Actions sent over the wire, and a snapshot with the actions after it, give the live state."""
    reducer, state = CHANNELS[channel]
    sequence = data.draw(st.lists(actions_of(channel), max_size=25))
    cut = data.draw(st.integers(0, len(sequence)))
    live = reduce(reducer, sequence, state)
    wired = [decode_action(encode(action)) for action in sequence]
    snapshot = decode(type(state), encode(reduce(reducer, wired[:cut], state)))
    assert on_the_wire(live) == on_the_wire(reduce(reducer, wired, state))
    assert encode(live) == encode(reduce(reducer, wired[cut:], snapshot))


GROWING: dict[Any, Any] = {
    MarkdownResponsePart: ChatDelta,
    ReasoningResponsePart: ChatReasoning,
    UserMessageResponsePart: XUserMessageDelta,
}


@pytest.mark.parametrize("part", GROWING, ids=lambda part: part.__name__)
@given(chunks=st.lists(st.text(max_size=6)))
def test_text_does_not_depend_on_its_division_into_deltas(part: Any, chunks: list[str]) -> None:
    """Text does not depend on its division into deltas, and other parts do not change."""
    before, after = MarkdownResponsePart(id="a", content="<"), MarkdownResponsePart(id="z", content=">")
    turn = ActiveTurn(id="1", message=HELLO, response_parts=(before, part(id="p", content=""), after))
    state = ChatState(resource="1", title="", status=8, modified_at=EPOCH, turns=(), active_turn=turn)
    for chunk in chunks:
        state = reduce_chat(state, GROWING[part](turn_id="1", part_id="p", content=chunk))
    assert state.active_turn is not None
    parts = state.active_turn.response_parts
    assert (before, part(id="p", content="".join(chunks)), after) == parts
    assert parts[0] is before
    assert parts[2] is after


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(1, OUTPUT_LIMIT // 2), max_size=6))
def test_terminal_keeps_the_end_of_long_output(sizes: list[int]) -> None:
    """The terminal keeps the last characters of any output, and marks it as cut."""
    chunks = [chr(0x1F600 + i) * size for i, size in enumerate(sizes)]
    state = reduce_chat(CHAT, XTerminalOpened(terminal=TerminalView(id="1", command="yes")))
    for chunk in chunks:
        state = reduce_chat(state, XTerminalData(terminal_id="1", data=chunk))
    assert state.terminals is not None
    text = "".join(chunks)
    assert (text[-OUTPUT_LIMIT:], len(text) > OUTPUT_LIMIT) == (state.terminals[0].output, state.terminals[0].truncated)
