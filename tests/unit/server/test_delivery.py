"""What a page is sent, when the kernel waits for it, and what it is sent again: time and wires are the test's."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.state import (
    ChatDelta,
    ChatResponsePart,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    SessionTitleChanged,
    encode,
)
from tests.unit.server.world import World

ACTIONS, TEXT, ACK, PING, RESYNC = (f"x-agentnb/{name}" for name in ("actions", "text", "ack", "ping", "resync"))
PIECE = "0123456789" * 5


@pytest.fixture
def world() -> World:
    """A kernel and one page, in the middle of an answer."""
    world = World(pages=1)
    world.settle()
    world.conversation.dispatch(
        ChatTurnStarted(turn_id="t", message=Message(text="hi", origin=MessageOrigin(kind="user")))
    )
    world.conversation.dispatch(part("p1"))
    world.settle()
    return world


def part(name: str) -> ChatResponsePart:
    return ChatResponsePart(turn_id="t", part=MarkdownResponsePart(id=name, content=""))


def stream(world: World, pieces: int, *, acks: bool = True) -> list[dict[str, Any]]:
    """Dispatches so many pieces, one each 35 ms; returns what the kernel sends meanwhile."""
    messages: list[dict[str, Any]] = []
    page = world.pages[0]
    for _ in range(pieces):
        world.conversation.dispatch(ChatDelta(turn_id="t", part_id="p1", content=PIECE, time=1_790_000_000_000))
        world.loop.advance(35)
        messages += page.incoming
        world.flow(page) if acks else page.incoming.clear()
    return messages


def next_flush(world: World) -> dict[str, Any]:
    """Returns the next flush to the page, and loses it."""
    for _ in range(100):
        if world.pages[0].incoming:
            break
        world.loop.advance(50)
    flush: dict[str, Any] = world.pages[0].incoming.popleft()["params"]
    return flush


def check(world: World) -> None:
    """Checks that the page is as the kernel in the end."""
    world.settle()
    assert world.seen(world.pages[0]) == world.expected(world.pages[0])


def test_continued_text_is_sent_without_its_names(world: World) -> None:
    """After a first whole flush each adds few bytes to its text, and the page shows all of it."""
    first, *others = stream(world, 20)
    assert (first["method"], {message["method"] for message in others}) == (ACTIONS, {TEXT})
    assert max(len(encode(message)) for message in others) < len(encode(first)) - 100
    check(world)


def test_page_acknowledges_several_text_flushes_at_once(world: World) -> None:
    """Each acknowledgement makes the kernel busy and idle, so the page sends one a second."""
    page = world.pages[0]
    stream(world, 1)
    before = len(page.said)
    stream(world, 85)  # three seconds
    assert sum(message["method"] == ACK for message in page.said[before:]) in {2, 3}


def test_page_requests_a_resync_when_it_missed_the_names(world: World) -> None:
    """The whole flush is lost: the page requests it at the next one and gets the text with its names."""
    page = world.pages[0]
    stream(world, 1, acks=False)  # the whole flush is lost
    stream(world, 2)
    assert [message["method"] for message in page.said][-2:] == [RESYNC, RESYNC]
    assert [message["method"] for message in page.incoming or stream(world, 1)] == [ACTIONS]
    check(world)


def test_page_without_text_support_gets_whole_flushes(world: World) -> None:
    """A page of version 0.1 does not announce support for texts."""
    client = world.service.delivery.attach(world.pages[0].client_id, visible=True)
    client.subscribe(world.conversation.chat)
    assert {message["method"] for message in stream(world, 10)} == {ACTIONS}


def test_kernel_waits_for_a_page_that_acknowledges_nothing(world: World) -> None:
    """At most 48 short flushes may be unacknowledged while the page still pings."""
    page = world.pages[0]
    stream(world, 1)
    world.flow(page)
    sent = 0
    for _ in range(55):  # less than two seconds, after which unacknowledged flushes are sent again
        world.service.receive({"v": 3, "clientId": page.client_id, "method": PING, "params": {}})
        sent += sum(message["method"] == TEXT for message in stream(world, 1, acks=False))
    assert sent == 48


def test_page_that_cannot_be_heard_gets_flushes_rarely(world: World) -> None:
    """A running cell may keep the kernel from receiving, while the page still reads: one flush each 0.3 seconds."""
    messages: list[dict[str, Any]] = []
    for number in range(90):
        world.conversation.dispatch(SessionTitleChanged(title=str(number)))
        world.loop.advance(50)
        messages += world.pages[0].incoming
        world.listen(world.pages[0])
    assert 12 <= len(messages) <= 17
    assert world.pages[0].channels[world.session].confirmed.title in {str(number) for number in range(80, 90)}


def test_snapshot_is_sent_when_it_is_smaller(world: World) -> None:
    """Many small changes of one object can be larger than the object."""
    for number in range(300):
        world.conversation.dispatch(part(f"q{number}"))
    flush = next_flush(world)
    assert (flush["envelopes"], flush["snapshots"][0]["fromSeq"]) == ([], 302)


def test_flush_lost_before_an_acknowledged_one_is_resent(world: World) -> None:
    """The page reports its index; a lower index than expected means a lost flush."""
    page = world.pages[0]
    world.conversation.dispatch(part("lost"))
    assert [each["action"]["part"]["id"] for each in next_flush(world)["envelopes"]] == ["lost"]
    world.conversation.dispatch(SessionTitleChanged(title="x"))
    world.loop.advance(50)
    world.flow(page)
    world.flow(page)
    again = [each["action"]["part"]["id"] for each in next_flush(world)["envelopes"]]
    assert (page.channels[world.session].confirmed.title, again) == ("x", ["lost"])


def test_rejection_in_a_lost_flush_is_resent(world: World) -> None:
    """A rejection moves no index, so the acknowledgement of a later flush does not prove its arrival."""
    page = world.pages[0]
    page.dispatch(world.session, {"type": "session/ready"})
    world.flow(page)
    rejected = [each["rejectionReason"] for each in next_flush(world)["envelopes"]]
    world.conversation.dispatch(SessionTitleChanged(title="x"))
    world.loop.advance(50)
    world.flow(page)
    world.flow(page)
    assert [each["rejectionReason"] for each in next_flush(world)["envelopes"]] == rejected
    check(world)
