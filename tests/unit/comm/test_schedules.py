"""Any schedule of hiding, reloading, losing, doubling and reordering: every page ends as the host is, byte for byte.

``AGENTNB_SCHEDULES`` says how many schedules are tried (2,000 unless told).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentnb.agent.catalog import find
from agentnb.comm.client import MAX_UNACKNOWLEDGED
from agentnb.comm.service import Service
from agentnb.host import Host
from agentnb.host.host import ROOT
from agentnb.log import ChannelLog
from agentnb.state import (
    ChatDelta,
    ChatReasoning,
    ChatResponsePart,
    ChatToolCallReady,
    ChatToolCallStart,
    ChatTurnComplete,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    ReasoningResponsePart,
    encode,
)
from tests.unit.comm.page import ManualLoop, Page

SCHEDULES = int(os.environ.get("AGENTNB_SCHEDULES", "2000"))
USER = Message(text="hi", origin=MessageOrigin(kind="user"))
ROUNDS = 60  # of the wire, until everything must have settled
which = st.integers(0, 1)


class Schedule(RuleBasedStateMachine):
    """A host without an agent, two pages, and a wire that loses, doubles and reorders flushes."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = ManualLoop()
        self.host = Host(self.loop)  # type: ignore[arg-type] # the shape of a HostLoop, without its thread
        self.service = Service(self.host, self._send)
        self.conversation = self.host.open(find("eliza"), cwd=Path.cwd())
        self.uris = (ROOT, self.conversation.session.uri, self.conversation.chat.uri)
        for uri in self.uris:
            channel = self.host.channel(uri)
            channel.log = ChannelLog(max_entries=12, begins_after=channel.index)
        self.pages = [Page(f"page-{number}", self.service.receive) for number in range(2)]
        for page in self.pages:
            page.subscribed = list(self.uris[1:])
            page.initialize(remember=False)
        self.said = ""
        self.turns = 0
        self.parts = 0

    def _send(self, client_id: str, message: dict[str, Any]) -> None:
        for page in self.pages:
            if page.client_id == client_id:
                page.tell(message)

    # --- the agent ---

    @rule(text=st.text(alphabet="ab\n\N{SNOWMAN}", min_size=1, max_size=3), times=st.integers(1, 6))
    def agent_speaks(self, text: str, times: int) -> None:
        self._open_part()
        for _ in range(times):
            self.said += text
            self._accept(ChatDelta(turn_id=self._turn, part_id=f"p{self.parts}", content=text))

    @rule(text=st.text(alphabet="cd", min_size=1, max_size=3))
    def agent_thinks(self, text: str) -> None:
        self._open_part()
        self._accept(ChatResponsePart(turn_id=self._turn, part=ReasoningResponsePart(id=f"r{self.parts}", content="")))
        self._accept(ChatReasoning(turn_id=self._turn, part_id=f"r{self.parts}", content=text))

    @rule()
    def agent_uses_a_tool(self) -> None:
        self._open_part()
        call = f"c{self.conversation.chat.index}"
        self._accept(ChatToolCallStart(turn_id=self._turn, tool_call_id=call, tool_name="t", display_name="T"))
        self._accept(
            ChatToolCallReady(turn_id=self._turn, tool_call_id=call, invocation_message="", confirmed="not-needed")
        )
        self.parts += 1
        self._accept(ChatResponsePart(turn_id=self._turn, part=MarkdownResponsePart(id=f"p{self.parts}", content="")))

    @rule()
    @precondition(lambda self: self.conversation.chat.state.active_turn is not None)
    def turn_ends(self) -> None:
        self._accept(ChatTurnComplete(turn_id=self._turn))

    # --- the pages ---

    @rule(at=which, visible=st.booleans())
    def page_is_hidden_or_shown(self, at: int, visible: bool) -> None:
        self.pages[at].show(visible=visible)

    @rule(at=which, remember=st.booleans())
    def page_starts_again(self, at: int, remember: bool) -> None:
        self.pages[at].initialize(remember=remember)

    @rule(at=which, title=st.sampled_from(["one", "two", "three"]), seq=st.integers(1, 9))
    def page_renames_the_session(self, at: int, title: str, seq: int) -> None:
        action = {"type": "session/titleChanged", "title": title}
        self.pages[at].say("dispatchAction", {"clientSeq": seq, "channel": self.uris[1], "action": action})

    # --- the wire ---

    @rule(at=which, count=st.integers(1, 4))
    def page_hears(self, at: int, count: int) -> None:
        page = self.pages[at]
        for _ in range(min(count, len(page.incoming))):
            page.hear(page.incoming.popleft())

    @rule(at=which, count=st.integers(1, 4))
    def kernel_hears(self, at: int, count: int) -> None:
        for _ in range(min(count, len(self.pages[at].outgoing))):
            self.pages[at].speak()

    @rule(at=which)
    def a_flush_is_lost(self, at: int) -> None:
        flush = next((message for message in self.pages[at].incoming if message.get("method") == "actions"), None)
        if flush is not None:
            self.pages[at].incoming.remove(flush)

    @rule(at=which)
    def a_flush_comes_twice(self, at: int) -> None:
        flushes = [message for message in self.pages[at].incoming if message.get("method") == "actions"]
        self.pages[at].incoming.extend(flushes[:1])

    @rule(at=which)
    def flushes_change_places(self, at: int) -> None:
        incoming = self.pages[at].incoming
        if all(message.get("method") == "actions" for message in incoming):
            incoming.rotate(1)

    @rule(at=which)
    def an_acknowledgement_is_lost(self, at: int) -> None:
        ack = next((message for message in self.pages[at].outgoing if message["method"] == "ack"), None)
        if ack is not None:
            self.pages[at].outgoing.remove(ack)

    @rule(at=which, seconds=st.sampled_from([0.05, 1.0]))
    def a_page_is_heard_but_its_acknowledgements_are_not(self, at: int, seconds: float) -> None:
        page = self.pages[at]
        while page.incoming:
            page.hear(page.incoming.popleft())
        self.loop.advance(seconds)
        page.say("ping", {})
        while page.outgoing:
            if page.outgoing[0]["method"] == "ack":
                page.outgoing.popleft()
            else:
                page.speak()

    @rule(seconds=st.sampled_from([0.01, 0.05, 0.5, 3.0]))
    def time_passes(self, seconds: float) -> None:
        self.loop.advance(seconds)

    # --- what must hold ---

    @invariant()
    def no_page_has_more_flushes_to_acknowledge_than_it_may(self) -> None:
        for client in self.service.delivery.clients.values():
            heard = client.waiting_since() is not None and client.seen_at > (client.waiting_since() or 0.0)
            assert not heard or client.unacknowledged <= MAX_UNACKNOWLEDGED + 1

    def teardown(self) -> None:
        for page in self.pages:
            page.show(visible=True)
        for _ in range(ROUNDS):
            for page in self.pages:
                while page.outgoing:
                    page.speak()
                while page.incoming:
                    page.hear(page.incoming.popleft())
                page.say("ping", {})
            self.loop.advance(0.5)
            if all(self._settled(page) for page in self.pages):
                break
        for page in self.pages:
            for uri in self.uris:
                assert page.picture(uri).decode() == _encoded(self.host, uri).decode()
        assert self.said == "".join(_texts(self.conversation.chat.state))

    def _settled(self, page: Page) -> bool:
        waiting = [m for m in (*page.incoming, *page.outgoing) if m.get("method") not in ("ping", "pong", "ack")]
        return not waiting and all(
            uri in page.channels and page.channels[uri][1] == self.host.channel(uri).index for uri in self.uris
        )

    # --- inside ---

    @property
    def _turn(self) -> str:
        return f"t{self.turns}"

    def _open_part(self) -> None:
        if self.conversation.chat.state.active_turn is None:
            self.turns += 1
            self.parts = 1
            self._accept(ChatTurnStarted(turn_id=self._turn, message=USER))
            self._accept(ChatResponsePart(turn_id=self._turn, part=MarkdownResponsePart(id="p1", content="")))

    def _accept(self, action: Any) -> None:
        self.conversation.dispatch(action)


def _encoded(host: Host, uri: str) -> bytes:
    return encode(host.channel(uri).state)


def _texts(chat: Any) -> list[str]:
    turns = [*chat.turns, *([chat.active_turn] if chat.active_turn is not None else [])]
    parts = [part for turn in turns for part in turn.response_parts]
    return [part.content for part in parts if isinstance(part, MarkdownResponsePart)]


Schedule.TestCase.settings = settings(
    max_examples=SCHEDULES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


class TestSchedules(Schedule.TestCase):  # type: ignore[misc,valid-type] # made by Hypothesis
    """Whatever the page does, and whatever happens to the wire."""
