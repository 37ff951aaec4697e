"""A client's cursors: what it gets next, when it must acknowledge first, and what is sent again."""

from __future__ import annotations

from typing import Any

from agentnb.host.channels import Channel
from agentnb.host.conversation import Conversation
from agentnb.server.client import ACK_SECONDS, MOST_STOPS, SILENT_SECONDS, UNHEARD_SECONDS, DeliveryClient
from agentnb.state import (
    ActionOrigin,
    ChatDelta,
    ChatResponsePart,
    ChatTurnStarted,
    Envelope,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    SessionTitleChanged,
)

TURN = ChatTurnStarted(turn_id="t", message=Message(text="hi", origin=MessageOrigin(kind="user")))
PART = ChatResponsePart(turn_id="t", part=MarkdownResponsePart(id="p1", content=""))


def stream(conversation: Conversation, *texts: str) -> None:
    """Dispatches the agent's *texts*."""
    if conversation.chat.state.active_turn is None:
        conversation.chat.accept(TURN)
        conversation.chat.accept(PART)
    for text in texts:
        conversation.chat.accept(ChatDelta(turn_id="t", part_id="p1", content=text))


def client_of(conversation: Conversation) -> DeliveryClient:
    """Returns a client that follows the chat from its beginning."""
    client = DeliveryClient("page", visible=True, seen_at=0.0)
    client.subscribe(conversation.chat)
    return client


def test_client_is_blocked_after_two_unacknowledged_flushes(conversation: Conversation) -> None:
    """The kernel waits for a client that speaks but does not acknowledge."""
    client = client_of(conversation)
    for moment, text in ((1.0, "a"), (1.1, "b")):
        stream(conversation, text)
        client.next_flush([conversation.chat], moment)
    before = client.blocked(9.0, 1.4)
    client.acknowledge(1, {})
    assert (before, client.blocked(9.0, 1.4)) == (True, False)


def test_client_that_cannot_be_heard_gets_flushes_rarely(conversation: Conversation) -> None:
    """A running cell may keep the kernel from receiving, while the page still reads."""
    client = client_of(conversation)
    for moment, text in ((1.0, "a"), (1.1, "b")):
        stream(conversation, text)
        client.next_flush([conversation.chat], moment)
    assert [client.blocked(1.1 + UNHEARD_SECONDS * share, 0.0) for share in (0.5, 1.5)] == [True, False]


def test_acknowledgement_not_yet_due_does_not_block_the_client(conversation: Conversation) -> None:
    """It may be in transit when a cell blocks the kernel; the page then counts as one that cannot be heard."""
    client = client_of(conversation)
    for moment, text in ((1.0, "a"), (1.1, "b")):
        stream(conversation, text)
        client.next_flush([conversation.chat], moment)
    assert [client.blocked(9.0, 1.0 + ACK_SECONDS * share) for share in (0.9, 1.1)] == [False, True]


def test_client_gets_flushes_when_no_page_pings(conversation: Conversation) -> None:
    """Pages ping every ten seconds: a kernel that hears no ping for longer cannot receive."""
    client = client_of(conversation)
    for moment, text in ((1.0, "a"), (1.1, "b")):
        stream(conversation, text)
        client.next_flush([conversation.chat], moment)
    assert [client.blocked(5.0 + SILENT_SECONDS * share, 5.0) for share in (0.9, 1.1)] == [True, False]


def test_resent_changes_apply_to_any_state_of_the_client(conversation: Conversation) -> None:
    """It may have any of the unacknowledged flushes, so texts are not merged across their ends."""
    client = client_of(conversation)
    for moment, text in ((1.0, "a"), (1.1, "b"), (1.2, "c")):
        stream(conversation, text, text)
        client.next_flush([conversation.chat], moment)
    client.acknowledge(1, {conversation.chat.uri: 4})
    client.rewind()
    stream(conversation, "d")
    again = client.next_flush([conversation.chat], 4.0)
    assert again is not None
    texts = [(e.get("first", e["index"]), e["index"]) for e in again["envelopes"] if "content" in e["action"]]
    assert texts == [(5, 6), (7, 8), (9, 9)]


def test_client_with_many_unacknowledged_flushes_gets_a_snapshot(conversation: Conversation) -> None:
    """A snapshot can be applied to any state of the client."""
    client = client_of(conversation)
    for number in range(MOST_STOPS + 1):
        stream(conversation, "a")
        client.next_flush([conversation.chat], float(number))
    client.rewind()
    again = client.next_flush([conversation.chat], 9_000.0)
    assert again is not None
    assert (again["envelopes"], [each["resource"] for each in again["snapshots"]]) == ([], [conversation.chat.uri])


def test_snapshot_is_sent_when_it_is_smaller(conversation: Conversation) -> None:
    """Many small changes of one object can be larger than the object."""
    client = client_of(conversation)
    stream(conversation)
    for number in range(300):
        conversation.chat.accept(ChatResponsePart(turn_id="t", part=MarkdownResponsePart(id=f"q{number}", content="")))
    flush = client.next_flush([conversation.chat], 1.0)
    assert flush is not None
    assert (flush["envelopes"], flush["snapshots"][0]["fromSeq"]) == ([], 302)


def test_flush_lost_before_an_acknowledged_one_is_resent(conversation: Conversation) -> None:
    """The page reports its index; a lower index than expected means a lost flush."""
    client = client_of(conversation)
    client.subscribe(conversation.session)
    both: list[Channel[Any]] = [conversation.chat, conversation.session]
    stream(conversation, "a")
    client.next_flush(both, 1.0)
    client.acknowledge(1, {conversation.chat.uri: 3})
    conversation.chat.accept(ChatDelta(turn_id="t", part_id="p1", content="b"))
    client.next_flush(both, 1.1)
    conversation.session.accept(SessionTitleChanged(title="x"))
    client.next_flush(both, 1.2)
    assert client.acknowledge(3, {conversation.chat.uri: 3, conversation.session.uri: conversation.session.index})
    again = client.next_flush(both, 1.3)
    assert again is not None
    assert [(e["channel"], e["index"]) for e in again["envelopes"]] == [(conversation.chat.uri, 4)]


def test_rejection_in_a_lost_flush_is_resent(conversation: Conversation) -> None:
    """A rejection moves no index, so the acknowledgement of a later flush does not prove its arrival."""
    client = client_of(conversation)
    chat, origin = conversation.chat, ActionOrigin(client_id="page", client_seq=7)
    no = Envelope(channel=chat.uri, index=1, action=TURN, origin=origin, rejection_reason="no")
    client.answered(no, 7)
    client.next_flush([chat], 1.0)
    stream(conversation, "a")
    client.next_flush([chat], 1.1)
    lost = client.acknowledge(2, {chat.uri: 3})
    again = client.next_flush([chat], 1.2)
    assert lost
    assert again is not None
    assert [envelope["rejectionReason"] for envelope in again["envelopes"]] == ["no"]
    assert not client.acknowledge(3, {chat.uri: 3})
    assert client.next_flush([chat], 1.3) is None


def test_snapshot_lists_the_page_actions_it_contains(conversation: Conversation) -> None:
    """The page gets no echo of them."""
    client = client_of(conversation)
    envelope = conversation.chat.accept(TURN, ActionOrigin(client_id="page", client_seq=7))
    client.answered(envelope, 7)
    client.resync({conversation.chat.uri: 0})
    flush = client.next_flush([conversation.chat], 1.0)
    assert flush is not None
    assert flush["snapshots"][0]["answered"] == [7]


def test_flush_numbers_continue_when_a_page_reconnects(conversation: Conversation) -> None:
    """So a late acknowledgement of an old flush does not count for a new one."""
    client = DeliveryClient("page", visible=True, seen_at=0.0, flush=4)
    client.subscribe(conversation.chat)
    stream(conversation, "a")
    flush = client.next_flush([conversation.chat], 1.0)
    client.acknowledge(4, {})
    assert flush is not None
    assert (flush["flush"], client.unacknowledged) == (5, 1)
