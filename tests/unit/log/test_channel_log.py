"""The log of one channel: what it keeps, what falls out, and what merging does to it."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from agentnb.log.record import ChannelLog, merge_envelopes
from agentnb.state import (
    ChatDelta,
    ChatReasoning,
    ChatResponsePart,
    ChatState,
    ChatTurnStarted,
    Envelope,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    ReasoningResponsePart,
    reduce_chat,
    to_json,
)

CHANNEL = "eliza:/1/chat"


def delta(index: int, text: str, part: str = "p1") -> Envelope:
    return Envelope(channel=CHANNEL, index=index, action=ChatDelta(turn_id="t", part_id=part, content=text))


def started() -> ChatState:
    state = ChatState(resource=CHANNEL, title="", status=1, modified_at="", turns=())
    message = Message(text="hi", origin=MessageOrigin(kind="user"))
    actions = (
        ChatTurnStarted(turn_id="t", message=message),
        ChatResponsePart(turn_id="t", part=MarkdownResponsePart(id="p1", content="")),
        ChatResponsePart(turn_id="t", part=ReasoningResponsePart(id="p2", content="")),
    )
    return reduce(reduce_chat, actions, state)


def test_it_forgets_the_oldest_beyond_its_count() -> None:
    """It reaches back only to what it has kept."""
    log = ChannelLog(max_entries=3)
    for index in range(1, 6):
        log.append(delta(index, "x"))
    assert (len(log), log.reaches(1), log.reaches(2), [e.index for e in log.after(2)]) == (3, False, True, [3, 4, 5])


def test_it_forgets_the_oldest_beyond_its_bytes() -> None:
    """Bytes bound it too, and the newest always stays, however large."""
    log = ChannelLog(max_bytes=1_000)
    log.append(delta(1, "x" * 900))
    log.append(delta(2, "x" * 5_000))
    assert [envelope.index for envelope in log.after(1)] == [2]


def test_deltas_of_one_part_merge_and_say_what_they_span() -> None:
    """``first..index`` covers every merged envelope."""
    merged = merge_envelopes([delta(4, "a"), delta(5, "b"), delta(6, "c", "p2"), delta(7, "d", "p2")])
    said = [(e.first, e.index, to_json(e.action)["content"]) for e in merged]
    assert said == [(4, 5, "ab"), (6, 7, "cd")]


def test_a_delta_with_a_time_does_not_merge_with_one_without() -> None:
    """The time would be lost, and with it when the chat was last modified."""
    timed = Envelope(
        channel=CHANNEL, index=4, action=ChatDelta(turn_id="t", part_id="p1", content="a", time=1_700_000_000_000)
    )
    assert [e.index for e in merge_envelopes([timed, delta(5, "b")])] == [4, 5]


texts = st.lists(st.tuples(st.sampled_from(["text", "thought"]), st.text(max_size=5)), max_size=30)


@given(texts)
def test_merging_never_changes_the_state(pieces: list[tuple[str, str]]) -> None:
    """Any stream of deltas has the same effect merged as piece by piece."""
    kinds = {"text": (ChatDelta, "p1"), "thought": (ChatReasoning, "p2")}
    envelopes = [
        Envelope(channel=CHANNEL, index=index, action=kinds[kind][0](turn_id="t", part_id=kinds[kind][1], content=text))
        for index, (kind, text) in enumerate(pieces, start=1)
    ]
    whole = reduce(lambda state, e: reduce_chat(state, e.action), envelopes, started())
    merged = reduce(lambda state, e: reduce_chat(state, e.action), merge_envelopes(envelopes), started())
    assert merged == whole
