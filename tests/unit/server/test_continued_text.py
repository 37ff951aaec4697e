"""Flushes that only continue a text: short, acknowledged together, never wrong."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.server.client import ACTIONS, MAX_TEXTS, TEXT
from agentnb.server.messages import OURS
from agentnb.state import (
    ChatDelta,
    ChatResponsePart,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    encode,
)
from tests.unit.server.world import World

TURN = ChatTurnStarted(turn_id="t", message=Message(text="hi", origin=MessageOrigin(kind="user")))
PART = ChatResponsePart(turn_id="t", part=MarkdownResponsePart(id="p1", content=""))
PIECE = "0123456789" * 5


@pytest.fixture
def world() -> World:
    """A kernel and one page, in the middle of an answer."""
    world = World(pages=1)
    world.settle()
    world.conversation.dispatch(TURN)
    world.conversation.dispatch(PART)
    world.settle()
    return world


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


def test_continued_text_is_sent_without_its_names(world: World) -> None:
    """After a first whole flush each adds few bytes to its text, and the page shows all of it."""
    first, *others = stream(world, 20)
    assert (first["method"], {message["method"] for message in others}) == (ACTIONS, {TEXT})
    assert max(len(encode(message)) for message in others) < len(encode(first)) - 100
    world.settle()
    assert world.seen(world.pages[0]) == world.expected(world.pages[0])


def test_page_acknowledges_several_text_flushes_at_once(world: World) -> None:
    """Each acknowledgement makes the kernel busy and idle, so the page sends one a second."""
    page = world.pages[0]
    stream(world, 1)
    before = len(page.said)
    stream(world, 85)  # three seconds
    acknowledged = [message["params"]["flush"] for message in page.said[before:] if message["method"] == f"{OURS}ack"]
    assert len(acknowledged) in {2, 3}


def test_page_requests_a_resync_when_it_missed_the_names(world: World) -> None:
    """The whole flush is lost: the page requests it at the next one and gets the text with its names."""
    page = world.pages[0]
    stream(world, 1, acks=False)  # the whole flush is lost
    stream(world, 2)
    assert [message["method"] for message in page.said][-2:] == [f"{OURS}resync", f"{OURS}resync"]
    assert [message["method"] for message in page.incoming or stream(world, 1)] == [ACTIONS]
    world.settle()
    assert world.seen(page) == world.expected(page)


def test_page_without_text_support_gets_whole_flushes(world: World) -> None:
    """A page of version 0.1 does not announce support for texts."""
    page, delivery = world.pages[0], world.service.delivery
    client = delivery.attach(page.client_id, visible=True)
    client.subscribe(world.conversation.chat)
    assert {message["method"] for message in stream(world, 10)} == {ACTIONS}


def test_kernel_waits_for_a_page_that_acknowledges_nothing(world: World) -> None:
    """Only a limited number of short flushes may be unacknowledged while the page still pings."""
    page = world.pages[0]
    stream(world, 1)
    world.flow(page)
    sent = 0
    for _ in range(55):  # less than two seconds, after which unacknowledged flushes are sent again
        world.service.receive({"v": 3, "clientId": page.client_id, "method": f"{OURS}ping", "params": {}})
        sent += sum(message["method"] == TEXT for message in stream(world, 1, acks=False))
    assert sent == MAX_TEXTS
