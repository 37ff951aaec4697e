"""Bytes to the page per byte of text: our delivery against a plain send per chunk, at several lengths and rates.

Counted are the messages as JSON; time is simulated, so the numbers are the same everywhere.
"""

from __future__ import annotations

from pathlib import Path

from agentnb.agent.catalog import find
from agentnb.host import Host
from agentnb.server.client import ACTIONS
from agentnb.server.service import Service
from agentnb.state import (
    ChatDelta,
    ChatResponsePart,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    encode,
)
from tests.benchmarks.row import Row
from tests.unit.server.manual_loop import ManualLoop
from tests.unit.server.page import Page

LENGTHS = (500, 2_000, 20_000)
RATES = (100, 1_000, 5_000)  # chunks per second
LIMIT = 5.0
PART = "p1"
TURN = "0b9f5a3e-6c1d-4a77-9d0e-2f1c8b7a6e55"
CLIENT = "f2c7b8a4-1d3e-4f60-8a9b-7c6d5e4f3a2b"
TIME = 1_790_000_000_000


def wire_bytes(chunks: int, rate: int) -> int:
    """Returns the bytes for *chunks* of five characters, *rate* a second, to a page that keeps up."""
    loop = ManualLoop()
    host = Host(loop)
    sent: list[int] = []

    def send(_client_id: str, message: dict[str, object]) -> None:
        if message.get("method") == ACTIONS:
            sent.append(len(encode({**message, "to": CLIENT})))
        page.incoming.append(message)

    service = Service(host, send)
    conversation = host.open(find("eliza"), cwd=Path.cwd())
    page = Page(CLIENT, loop)
    page.follow(conversation.chat.uri)
    page.show(visible=True)
    started = ChatTurnStarted(turn_id=TURN, message=Message(text="hi", origin=MessageOrigin(kind="user")))
    conversation.dispatch(started)
    conversation.dispatch(ChatResponsePart(turn_id=TURN, part=MarkdownResponsePart(id=PART, content="")))
    _exchange(service, page)
    loop.advance(1_000)
    _exchange(service, page)
    sent.clear()
    per_round = max(1, rate // 100)
    for number in range(chunks):
        conversation.dispatch(delta())
        if number % per_round == per_round - 1:
            loop.advance(1_000 * per_round // rate)
            _exchange(service, page)
    loop.advance(1_000)
    _exchange(service, page)
    assert encode(page.channels[conversation.chat.uri].shown) == encode(conversation.chat.state)
    return sum(sent)


def plain_bytes(chunks: int) -> int:
    """Returns the bytes of one custom message per chunk, as small as a widget's."""
    message = {"method": "custom", "content": {"turn": TURN, "part": PART, "text": delta().content}}
    return chunks * len(encode(message))


def text_bytes(chunks: int) -> int:
    return chunks * len(delta().content)


def delta() -> ChatDelta:
    return ChatDelta(turn_id=TURN, part_id=PART, content="word ", time=TIME)


def _exchange(service: Service, page: Page) -> None:
    while page.incoming or page.outgoing:
        while page.outgoing:
            service.receive(page.outgoing.popleft())
        while page.incoming:
            page.hear(page.incoming.popleft())


def measure() -> list[Row]:
    rows = []
    for chunks in LENGTHS:
        plain = plain_bytes(chunks) / text_bytes(chunks)
        rows += [
            Row(
                what=f"bytes per byte of text, {chunks:,} chunks at {rate:,}/s (plain send {plain:.1f})",
                value=wire_bytes(chunks, rate) / text_bytes(chunks),
                unit="B/B",
                at_most=LIMIT,
            )
            for rate in RATES
        ]
    return rows
