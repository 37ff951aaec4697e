"""The kernel answers or drops each message of a page, and the channel never breaks."""

from __future__ import annotations

import logging
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from agentnb import Session
from agentnb.agent.catalog import find
from agentnb.host import Host
from agentnb.host.conversation import Conversation
from agentnb.host.host import ROOT
from agentnb.server.request_table import wire_name
from agentnb.server.service import Service
from agentnb.state import ChatTurnComplete, ChatTurnStarted, Message, MessageOrigin
from agentnb.state.versions import WINDOW
from tests.unit.api.conftest import PATIENCE
from tests.unit.server.bytes_apart import bytes_apart

USER = {"kind": "user"}


class Page:
    """An in-memory page: sends messages to a service and keeps what it gets."""

    def __init__(self, host: Host, client_id: str = "page-1") -> None:
        self.host = host
        self.client_id = client_id
        self.messages: Queue[dict[str, Any]] = Queue()
        self.service = Service(host, self._tell)
        self._id = 0

    def _tell(self, client_id: str, message: dict[str, Any]) -> None:
        if client_id == self.client_id:
            self.messages.put(bytes_apart(message))

    def say(self, method: str, params: object, **more: object) -> None:
        message = {
            "jsonrpc": "2.0",
            "v": WINDOW.current,
            "clientId": self.client_id,
            "method": wire_name(method),
            "params": params,
            **more,
        }
        self.host.loop.call(self.service.receive, message)

    def ask(self, method: str, params: object, **more: object) -> dict[str, Any]:
        self._id += 1
        self.say(method, params, id=self._id, **more)
        return self.hear("id")

    def hear(self, key: str) -> dict[str, Any]:
        while True:
            message = self.messages.get(timeout=PATIENCE)
            if key in message or message.get("method") == wire_name(key):
                return message

    def ready(self, *channels: str) -> dict[str, Any]:
        params = {"protocolVersions": [WINDOW.current], "initialSubscriptions": channels, "visible": True}
        return self.ask("initialize", params)

    def dispatch(self, channel: str, action: dict[str, Any], seq: int = 1) -> None:
        self.say("dispatchAction", {"clientSeq": seq, "channel": channel, "action": action})

    def envelope(self, seq: int = 1) -> dict[str, Any]:
        """Returns the envelope that answers this page's action."""
        while True:
            flush = self.hear("actions")["params"]
            seen = {envelope["channel"]: envelope["index"] for envelope in flush["envelopes"]}
            seen |= {each["resource"]: each["fromSeq"] for each in flush.get("snapshots", [])}
            self.say("ack", {"flush": flush["flush"], "seen": seen})
            for envelope in flush["envelopes"]:
                if envelope.get("origin", {}).get("clientSeq") == seq:
                    return dict(envelope)


@pytest.fixture
def page(host: Host) -> Page:
    """A page that has not sent anything."""
    return Page(host)


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        "text",
        [],
        {},
        {"v": 3},
        {"v": 3, "clientId": "x", "method": 7},
        {"v": "1", "clientId": "x", "method": "ack"},
    ],
)
def test_invalid_message_is_dropped_and_logged_once(
    page: Page, message: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "agentnb.comm"):
        for _ in range(2):
            page.host.loop.call(page.service.receive, message)
    assert (len(caplog.records), "result" in page.ready()) == (1, True)


def test_pong_has_the_indexes_of_the_subscribed_channels(page: Page, conversation: Conversation) -> None:
    """A hidden page gets the root only."""
    page.ready(conversation.session.uri)
    root, session = page.host.root.index, conversation.session.index
    page.say("ping", {})
    seen = page.hear("pong")["params"]
    page.say("visibility", {"visible": False})
    page.say("ping", {})
    hidden = page.hear("pong")["params"]
    assert seen == {"hostId": page.host.host_id, "indexes": {ROOT: root, conversation.session.uri: session}}
    assert hidden["indexes"] == {ROOT: root}


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"type": "chat/delta", "turnId": "t", "partId": "p", "content": "forged"}, "may not dispatch"),
        ({"type": "chat/turnComplete", "turnId": "t"}, "may not dispatch"),
        ({"type": "chat/nobodyKnows"}, "may not dispatch"),
        ({"type": "chat/turnCancelled", "turnId": "none"}, "No turn 'none'"),
        (
            {
                "type": "chat/toolCallConfirmed",
                "turnId": "t",
                "toolCallId": "c",
                "approved": True,
                "confirmed": "user-action",
            },
            "no longer open",
        ),
    ],
)
def test_invalid_action_is_rejected_with_the_reason(
    page: Page, conversation: Conversation, action: dict[str, Any], reason: str
) -> None:
    page.ready(conversation.chat.uri)
    before = conversation.chat.state
    page.dispatch(conversation.chat.uri, action)
    assert reason in page.envelope()["rejectionReason"]
    assert conversation.chat.state is before


def test_hidden_page_gets_only_the_root_until_it_is_visible(host: Host, tmp_path: Path) -> None:
    """Nothing is lost and nothing comes twice."""
    conversation = host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path))
    page = Page(host)
    page.ready(conversation.session.uri)
    page.say("visibility", {"visible": False})
    page.dispatch(conversation.session.uri, {"type": "session/titleChanged", "title": "Hidden"})
    hidden = page.hear("actions")["params"]
    page.say("ack", {"flush": hidden["flush"], "seen": {ROOT: page.host.root.index}})
    page.say("visibility", {"visible": True})
    visible = page.hear("actions")["params"]
    assert {envelope["channel"] for envelope in hidden["envelopes"]} == {ROOT}
    assert [envelope["action"]["title"] for envelope in visible["envelopes"]] == ["Hidden"]


def test_prompt_sent_twice_starts_one_turn(host: Host, tmp_path: Path) -> None:
    """The page makes the turn ids: the second prompt is rejected and the turn continues."""
    conversation = host.loop.call(lambda: host.open(find("eliza"), cwd=tmp_path))
    page = Page(host)
    page.ready(conversation.chat.uri)
    started = {"type": "chat/turnStarted", "turnId": "t1", "message": {"text": "/say once", "origin": USER}}
    page.dispatch(conversation.chat.uri, started, seq=1)
    page.dispatch(conversation.chat.uri, started, seq=2)
    assert "started before" in page.envelope(2)["rejectionReason"]


def test_page_lists_and_reopens_earlier_sessions(tmp_path: Path) -> None:
    """The next kernel's page opens one, and its root channel gets the tab."""
    log = tmp_path / "log.db"
    first = Host(log=log, place="fit.ipynb")
    conversation = first.loop.call(lambda: first.open(find("eliza"), cwd=tmp_path))
    page = Page(first)
    page.ready(conversation.chat.uri)
    page.dispatch(
        conversation.chat.uri,
        {"type": "chat/turnStarted", "turnId": "t", "message": {"text": "/say kept", "origin": USER}},
    )
    while not conversation.chat.state.turns:
        page.hear("actions")
    first.close()
    second = Host(log=log, place="other.ipynb")
    try:
        page = Page(second, "page-2")
        page.ready()
        assert page.ask("listSessions", {"here": True})["result"]["sessions"] == []
        assert second.recorder is not None
        second.recorder.place = ""  # without a notebook, the folder's conversations count
        assert page.ask("listSessions", {"here": True})["result"]["sessions"] == []
        assert tmp_path != Path.cwd()
        assert page.ask("listSessions", {"search": "nowhere"})["result"]["sessions"] == []
        (listed,) = page.ask("listSessions", {"search": "KEPT"})["result"]["sessions"]
        assert (listed["uri"], listed["turns"], listed["place"]) == (conversation.session.uri, 1, "fit.ipynb")
        opened = page.ask("resumeSession", {"channel": listed["uri"]})["result"]
        assert opened == {"channel": conversation.session.uri, "chat": conversation.chat.uri}
        chat = page.ask("subscribe", {"channel": opened["chat"]})["result"]["snapshot"]
        assert chat["state"]["turns"][0]["responseParts"][0]["content"] == "kept"
        assert chat["fromSeq"] == conversation.chat.index
    finally:
        second.close()


def test_session_missing_from_the_log_is_refused(tmp_path: Path) -> None:
    host = Host(log=tmp_path / "log.db")
    try:
        page = Page(host)
        page.ready()
        error = page.ask("resumeSession", {"channel": "eliza:/none"})["error"]
        assert "no session whose id begins with" in error["message"]
        assert page.ask("resumeSession", {})["error"]["code"] == -32602
    finally:
        host.close()


def test_list_without_a_log_is_empty_and_says_why(host: Host) -> None:
    page = Page(host)
    page.ready()
    listed = page.ask("listSessions", {})["result"]
    assert listed["sessions"] == []
    assert "AGENTNB_LOG" in listed["note"]
    assert "AGENTNB_LOG" in page.ask("resumeSession", {"channel": "eliza:/1"})["error"]["message"]


def test_long_chat_has_latest_turns_and_fetches_earlier_ones(host: Host, conversation: Conversation) -> None:
    """In pages, oldest first, until the first turn."""
    for number in range(75):
        message = Message(text=f"q{number}", origin=MessageOrigin(kind="user"))
        host.loop.call(conversation.dispatch, ChatTurnStarted(turn_id=f"t{number}", message=message))
        host.loop.call(conversation.dispatch, ChatTurnComplete(turn_id=f"t{number}"))
    page = Page(host)
    page.ready()
    chat = conversation.chat.uri
    update = page.ask("subscribe", {"channel": chat})["result"]["snapshot"]
    assert ([turn["id"] for turn in update["state"]["turns"]], update["earlier"]) == (
        [f"t{number}" for number in range(45, 75)],
        45,
    )
    first = page.ask("fetchTurns", {"channel": chat, "before": "t45", "limit": 40})["result"]
    assert [turn["id"] for turn in first["turns"]] == [f"t{number}" for number in range(5, 45)]
    assert (first["hasMore"], first["earlier"], first["index"]) == (True, 5, 150)
    last = page.ask("fetchTurns", {"channel": chat, "before": "t5"})["result"]
    assert ([turn["id"] for turn in last["turns"]], last["hasMore"]) == ([f"t{number}" for number in range(5)], False)
    assert page.ask("fetchTurns", {"channel": chat, "before": "t0"})["result"]["turns"] == []
    assert len(page.ask("fetchTurns", {"channel": chat, "limit": 10_000})["result"]["turns"]) == 75
    assert "no turn 'x'" in page.ask("fetchTurns", {"channel": chat, "before": "x"})["error"]["message"]
    assert "error" in page.ask("fetchTurns", {"channel": "eliza:/none/chat"})


def test_fetch_of_large_turns_is_limited_by_bytes(host: Host, conversation: Conversation) -> None:
    for number in range(4):
        message = Message(text=f"{number}" * 400_000, origin=MessageOrigin(kind="user"))
        host.loop.call(conversation.dispatch, ChatTurnStarted(turn_id=f"t{number}", message=message))
        host.loop.call(conversation.dispatch, ChatTurnComplete(turn_id=f"t{number}"))
    page = Page(host)
    page.ready()
    fetched = page.ask("fetchTurns", {"channel": conversation.chat.uri, "limit": 4})["result"]
    assert ([turn["id"] for turn in fetched["turns"]], fetched["earlier"]) == (["t2", "t3"], 2)


def test_a_page_and_python_drive_one_session(page: Page, conversation: Conversation) -> None:
    """A page prompts, Python queues, the page cancels the turn: both see all of it in one order."""
    session, uri = Session(conversation), conversation.chat.uri
    page.ready(uri)
    message = {"text": "/hang", "origin": USER}
    page.dispatch(uri, {"type": "chat/turnStarted", "turnId": "from-the-page", "message": message})
    assert page.envelope()["index"] > 0
    mine = session.prompt("/say from Python")
    assert (session.queue, mine.state) == (("/say from Python",), "queued")
    page.dispatch(uri, {"type": "chat/turnCancelled", "turnId": "from-the-page"}, seq=2)
    assert "rejectionReason" not in page.envelope(seq=2)
    assert mine.wait(PATIENCE).text == "from Python"
    theirs = session.turns[0]
    assert ([turn.id for turn in session.turns], theirs.state) == (["from-the-page", mine.id], "cancelled")
    other = Page(page.host, "page-2")
    other.ready()
    seen = other.ask("subscribe", {"channel": uri})["result"]["snapshot"]["state"]
    assert [turn["id"] for turn in seen["turns"]] == ["from-the-page", mine.id]


HALF = "\ud83d"
DEEP: Any = None
for _ in range(600):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "content",
    [
        {"v": 3, "clientId": "page-1", "id": 7, "method": "complete", "params": DEEP},
        {"v": 3, "clientId": "page-1", "id": 7, "method": HALF, "params": {}},
        {"v": 3, "clientId": "page-1", "id": 7, "method": "complete", "params": {"channel": HALF, "start": HALF}},
        {"v": 3, "clientId": "page-1", "id": 7, "method": "complete", "params": object()},
        {"v": "1", "clientId": "page-1", "id": 7, "method": "ping"},
        {"v": 3, "clientId": "page-1", "id": 7, "method": "subscribe", "params": {"channel": 10**400}},
    ],
)
def test_unreadable_request_gets_an_error_answer(host: Host, content: dict[str, Any]) -> None:
    """Without an answer the page would wait for ever. The channel stays open."""
    page = Page(host)
    page.ready()
    host.loop.call(page.service.receive, content)
    answer = page.hear("id")
    assert (answer["id"], "error" in answer) == (7, True)
    assert page.ask("subscribe", {"channel": ROOT})["result"]["snapshot"]["resource"] == ROOT
