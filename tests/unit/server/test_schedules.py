"""Any schedule of hiding, reloading, loss, duplication and reordering: every page ends byte for byte as the host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from agentnb.state import (
    ActiveTurn,
    ChatDelta,
    ChatReasoning,
    ChatResponsePart,
    ChatState,
    ChatToolCallReady,
    ChatToolCallStart,
    ChatTurnComplete,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    ReasoningResponsePart,
    SessionTitleChanged,
    Turn,
)
from tests.thorough import examples
from tests.unit.server.page import Page
from tests.unit.server.world import World
from tests.vitest import needs_node, run_vitest

COMMON = 1_000
SCHEDULES = int(os.environ.get("AGENTNB_SCHEDULES", examples(160)))
PARTS = max(1, SCHEDULES // COMMON)
STEPS = 25
USER = Message(text="hi", origin=MessageOrigin(kind="user"))
FATES = ("heard", "lost", "late", "twice")
DOINGS = st.sampled_from(["speaks", "thinks", "titles", "waits"])
UNHEARD_STEPS = 6  # of 2.5 s; by then pages that the kernel does not hear must have everything
MOMENTS = st.tuples(
    DOINGS,
    st.sampled_from(FATES),
    st.sampled_from([True, True, False]),
)
which = st.integers(0, 1)
waits = st.sampled_from([50, 300])
texts = st.text(alphabet="ab\n\N{SNOWMAN}", min_size=1, max_size=3)


class Schedule(RuleBasedStateMachine):
    """A kernel without an agent, two pages, and wires that lose, duplicate and reorder the kernel's messages."""

    @initialize(
        log_entries=st.sampled_from([3, 12, 5_000]),
        turns=st.sampled_from([1, 2, 30]),
        ready=st.sampled_from([True, True, False]),
    )
    def begin(self, log_entries: int, turns: int, ready: bool) -> None:
        self.world = World(log_entries=log_entries, turns=turns)
        self.texts: dict[str, str] = {}
        self.made = 0
        if ready:
            self.world.settle()

    # --- the agent ---

    @rule(text=texts, times=st.integers(1, 6), time=st.sampled_from([None, 1_700_000_000_000]))
    def agent_speaks(self, text: str, times: int, time: int | None) -> None:
        turn = self._turn()
        part = turn.response_parts[-1] if turn.response_parts else None
        if not isinstance(part, MarkdownResponsePart):
            part = MarkdownResponsePart(id=self._new("p"), content="")
            self._accept(ChatResponsePart(turn_id=turn.id, part=part))
        for number in range(times):
            piece = f"{text}{number}"
            self.texts[part.id] = self.texts.get(part.id, "") + piece
            self._accept(ChatDelta(turn_id=turn.id, part_id=part.id, content=piece, time=time))

    @rule(what=st.sampled_from(["thinks", "uses a tool", "ends the turn"]))
    def agent_does_something_else(self, what: str) -> None:
        turn, name = self._turn(), self._new("x")
        if what == "thinks":
            self._accept(ChatResponsePart(turn_id=turn.id, part=ReasoningResponsePart(id=name, content="")))
            for piece in ("so", "…"):
                self._accept(ChatReasoning(turn_id=turn.id, part_id=name, content=piece))
        elif what == "uses a tool":
            self._accept(ChatToolCallStart(turn_id=turn.id, tool_call_id=name, tool_name="t", display_name="T"))
            ready = ChatToolCallReady(turn_id=turn.id, tool_call_id=name, invocation_message="", confirmed="not-needed")
            self._accept(ready)
        else:
            self._accept(ChatTurnComplete(turn_id=turn.id))
            self.world.conversation.turns.queue.pump()

    # --- the pages ---

    @rule(at=which, visible=st.booleans())
    def page_is_hidden_or_shown(self, at: int, visible: bool) -> None:
        self.world.pages[at].show(visible=visible)

    @rule(at=which, how=st.sampled_from(["reloaded", "forgotten by the kernel", "left by the kernel"]))
    def page_begins_again(self, at: int, how: str) -> None:
        if how == "reloaded":
            self.world.reload(at)
        elif how == "forgotten by the kernel":
            self.world.forget(self.world.pages[at])
        else:
            self.world.restart_kernel()
            self.texts.clear()

    @rule(at=which, title=st.sampled_from(["one", "two", "three"]))
    def page_renames_the_session(self, at: int, title: str) -> None:
        action = {"type": "session/titleChanged", "title": title}
        self.world.pages[at].dispatch(self.world.session, action)

    @rule(at=which, back=st.booleans())
    def page_prompts_or_takes_a_prompt_back(self, at: int, back: bool) -> None:
        """The prompt may be missing or running already; the kernel answers either way."""
        name = f"q{self.made}" if back else self._new("q")
        message = {"text": "next", "origin": {"kind": "user"}}
        action = {"type": "chat/pendingMessageSet", "kind": "queued", "id": name, "message": message}
        if back:
            action = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": name}
        self.world.pages[at].dispatch(self.world.chat, action)

    # --- the wires ---

    @rule(at=which, wait=waits, moments=st.lists(MOMENTS, min_size=1, max_size=5))
    def wire_carries(self, at: int, wait: int, moments: list[tuple[str, str, bool]]) -> None:
        """Lets the kernel act, delivers, loses or delays its next message, and receives the page's messages."""
        page = self.world.pages[at]
        for doing, fate, acks in moments:
            self._do(doing)
            self.world.loop.advance(wait)
            if page.incoming:
                self._meet(page, fate)
            self._hear(page, acks=acks)

    def _do(self, doing: str) -> None:
        if doing == "speaks":
            self.agent_speaks("so", 2, None)
        elif doing == "thinks":
            self.agent_does_something_else("thinks")
        elif doing == "titles":
            self._accept(SessionTitleChanged(title=self._new("title")))

    def _hear(self, page: Page, *, acks: bool) -> None:
        while page.outgoing:
            message = page.outgoing.popleft()
            if acks or message["method"] != "x-agentnb/ack":
                self.world.service.receive(message)

    def _meet(self, page: Page, fate: str) -> None:
        message = page.incoming.popleft()
        if fate in {"late", "twice"}:
            page.incoming.append(message)
        if fate in {"heard", "twice"}:
            page.hear(message)

    @rule(heard=st.lists(DOINGS, max_size=4), unheard=st.lists(DOINGS, min_size=1, max_size=12))
    def cell_blocks_the_kernel(self, heard: list[str], unheard: list[str]) -> None:
        """From some moment on the kernel receives nothing while each page still receives: it must show everything."""
        self.world.loop.advance(11_000)  # a forgotten page learns this from its next ping
        self.world.settle()
        for doing in heard:
            self._do(doing)
            self.world.loop.advance(150)
            for page in self.world.pages:
                self.world.flow(page)
        for doing in unheard:
            self._do(doing)
            self.world.loop.advance(300)
            for page in self.world.pages:
                self.world.listen(page)
        for _ in range(UNHEARD_STEPS):
            self.world.loop.advance(2_500)
            for page in self.world.pages:
                self.world.listen(page)
        self._all_pages_are_as_the_kernel()

    @rule(wait=st.sampled_from([10, 50, 300, 3_000, 11_000]))
    def time_passes(self, wait: int) -> None:
        self.world.loop.advance(wait)

    # --- what must hold ---

    @rule()
    def nothing_happens_any_more(self) -> None:
        self.world.settle()
        self._all_pages_are_as_the_kernel()

    @invariant()
    def every_page_is_where_the_kernel_was(self) -> None:
        """At no moment is a change missing or applied twice."""
        for page in self.world.pages:
            for uri, channel in page.channels.items():
                assert channel.confirmed is None or self.world.truth(page, uri) == channel.confirmed

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.nothing_happens_any_more()
        for page in self.world.pages:
            page.show(visible=True)
        self.nothing_happens_any_more()
        assert self.texts == _texts(self.world.conversation.chat.state)

    def _all_pages_are_as_the_kernel(self) -> None:
        for page in self.world.pages:
            assert self.world.expected(page) == self.world.seen(page)

    # --- inside ---

    def _turn(self) -> ActiveTurn:
        """Returns the running turn, or starts one."""
        chat = self.world.conversation.chat
        if chat.state.active_turn is None:
            self._accept(ChatTurnStarted(turn_id=self._new("t"), message=USER))
        assert chat.state.active_turn is not None
        return chat.state.active_turn

    def _new(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def _accept(self, action: Any) -> None:
        self.world.conversation.dispatch(action)


def _texts(chat: ChatState) -> dict[str, str]:
    turns: list[Turn | ActiveTurn] = [*chat.turns, *([chat.active_turn] if chat.active_turn is not None else [])]
    parts = [part for turn in turns for part in turn.response_parts]
    return {part.id: part.content for part in parts if isinstance(part, MarkdownResponsePart)}


@pytest.fixture(scope="module", params=range(PARTS))
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file for the recorded pages of one part's schedules; the parts differ only by chance."""
    return tmp_path_factory.mktemp("schedules") / f"{request.param}.jsonl"


def test_every_page_equals_the_kernel_after_any_schedule(lived: Path) -> None:
    """Any action of the pages and any fault of the wires."""
    run(lived)


@needs_node
def test_front_end_client_behaves_like_the_test_page(lived: Path) -> None:
    """On the same schedules it sends the same messages at the same times and shows the same states."""
    if not lived.exists():
        run(lived)
    assert len(lived.read_text(encoding="utf-8").splitlines()) >= 2 * (SCHEDULES // PARTS)
    run_vitest("test/comm/schedules.test.ts", AGENTNB_SCHEDULE_FILE=str(lived))


def run(file: Path) -> None:
    """Runs one part's schedules and writes the record of each page, one page a line."""
    with file.open("wb") as lines:

        class Recorded(Schedule):
            def teardown(self) -> None:
                super().teardown()
                if hasattr(self, "world"):
                    lines.writelines(msgspec.json.encode(page.record()) + b"\n" for page in self.world.all_pages)

        run_state_machine_as_test(Recorded, settings=_settings(SCHEDULES // PARTS))


def _settings(schedules: int) -> settings:
    return settings(
        max_examples=schedules,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=SCHEDULES <= COMMON,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
