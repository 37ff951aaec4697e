"""The kernel answers or drops each message of a page of any version, and the channel never breaks."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session
from agentnb.state import SessionActiveClientSet, SessionTitleChanged
from tests.unit.api.conftest import PATIENCE
from tests.unit.server.asking_page import MakeHost, Page, channel_of, happen, idle_session, page_of, talk, turn

USER = {"kind": "user"}
ROOT = "ahp-root://"
INVALID: list[Any] = [None, 7, "text", [], {}, {"v": 3}, {"v": 3, "clientId": "x", "method": 7}]
INVALID.append({"v": "1", "clientId": "x", "method": "ack"})


def test_invalid_message_is_dropped_and_logged_once(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "agentnb.comm"):
        for message in (*INVALID, *INVALID):
            page.send(message)
    texts = [record.getMessage() for record in caplog.records]
    assert (len(texts), "result" in page.ready()) == (len(set(texts)), True)
    assert all("not of the protocol" in text for text in texts)


def test_invalid_action_is_rejected_with_the_reason(page: Page, idle: Session) -> None:
    """Neither a turn nor a permission request is there; the state stays as it was."""
    before = idle.chat
    page.ready(before.resource)
    confirmed = {"turnId": "t", "toolCallId": "c", "approved": True, "confirmed": "user-action"}
    page.dispatch(before.resource, {"type": "chat/turnCancelled", "turnId": "none"}, seq=1)
    assert "No turn 'none'" in page.envelope(1)["rejectionReason"]
    page.dispatch(before.resource, {"type": "chat/toolCallConfirmed", **confirmed}, seq=2)
    assert "no longer open" in page.envelope(2)["rejectionReason"]
    assert idle.chat is before


def test_hidden_page_gets_only_the_root_until_it_is_visible(page: Page, idle: Session) -> None:
    """Nothing is lost and nothing comes twice; its pongs have only the root, too."""
    uri = channel_of(idle)
    page.ready(uri)
    page.say("ping", {})
    assert set(page.hear("pong")["params"]["indexes"]) == {ROOT, uri}
    page.say("visibility", {"visible": False})
    page.dispatch(uri, {"type": "session/titleChanged", "title": "Hidden"})
    hidden = page.hear("actions")["params"]
    page.say("ping", {})
    indexes = page.hear("pong")["params"]["indexes"]
    page.say("ack", {"flush": hidden["flush"], "seen": indexes})
    page.say("visibility", {"visible": True})
    visible = page.hear("actions")["params"]
    assert ({envelope["channel"] for envelope in hidden["envelopes"]}, set(indexes)) == ({ROOT}, {ROOT})
    assert [envelope["action"]["title"] for envelope in visible["envelopes"]] == ["Hidden"]


def test_prompt_sent_twice_starts_one_turn(page: Page, idle: Session) -> None:
    """The page makes the turn ids: the second prompt is rejected and the turn continues."""
    uri = idle.chat.resource
    page.ready(uri)
    started = {"type": "chat/turnStarted", "turnId": "t1", "message": {"text": "/say once", "origin": USER}}
    page.dispatch(uri, started, seq=1)
    page.dispatch(uri, started, seq=2)
    assert "started before" in page.envelope(2)["rejectionReason"]


def test_page_lists_and_reopens_earlier_sessions(kernel: MakeHost, tmp_path: Path) -> None:
    """The next kernel's page opens one, and its root channel gets the tab; a session that is not there is refused."""
    first = kernel()
    uri = talk(first, tmp_path, ("/say kept", "kept")).session.uri
    first.close()
    page = page_of(second := kernel("other.ipynb"))

    def listed(**params: object) -> list[dict[str, Any]]:
        sessions: list[dict[str, Any]] = page.ask("listSessions", params)["result"]["sessions"]
        return sessions

    assert listed(here=True) == []
    assert second.recorder is not None
    second.recorder.place = ""  # without a notebook, the folder's conversations count
    assert (listed(here=True), listed(search="nowhere")) == ([], [])
    (found,) = listed(search="KEPT")
    assert (found["uri"], found["turns"], found["place"]) == (uri, 1, "fit.ipynb")
    assert "no session whose id begins with" in page.refused("resumeSession", channel="eliza:/none")
    opened = page.ask("resumeSession", {"channel": uri})["result"]
    assert opened == {"channel": uri, "chat": f"{uri}/chat"}
    chat = page.ask("subscribe", {"channel": opened["chat"]})["result"]["snapshot"]
    assert chat["state"]["turns"][0]["responseParts"][0]["content"] == "kept"
    tabs = page.ask("subscribe", {"channel": ROOT})["result"]["snapshot"]["state"]["sessions"]
    assert uri in [each["resource"] for each in tabs]


def test_long_chat_has_latest_turns_and_fetches_earlier_ones(page: Page, idle: Session, tmp_path: Path) -> None:
    """In pages, oldest first, until the first turn; of large turns only as many as fit a megabyte."""
    for number in range(75):
        happen(page.host, idle, *turn(number, f"q{number}"))
    chat = idle.chat.resource

    def fetched(**params: object) -> dict[str, Any]:
        result: dict[str, Any] = page.ask("fetchTurns", {"channel": chat, **params})["result"]
        return {**result, "turns": [each["id"] for each in result["turns"]]}

    update = page.ask("subscribe", {"channel": chat})["result"]["snapshot"]
    ids = [f"t{number}" for number in range(75)]
    assert ([each["id"] for each in update["state"]["turns"]], update["earlier"]) == (ids[45:], 45)
    assert fetched(before="t45", limit=40) == {"turns": ids[5:45], "hasMore": True, "earlier": 5, "index": 150}
    assert fetched(before="t5") == {"turns": ids[:5], "hasMore": False, "earlier": 0, "index": 150}
    assert (fetched(before="t0")["turns"], fetched(limit=10_000)["turns"]) == ([], ids)
    assert "no turn 'x'" in page.refused("fetchTurns", channel=chat, before="x")
    large = idle_session(page.host, tmp_path)
    for number in range(4):
        happen(page.host, large, *turn(number, f"{number}" * 400_000))
    result = fetched(channel=large.chat.resource, limit=4)
    assert (result["turns"], result["earlier"]) == (["t2", "t3"], 2)


def test_a_page_and_python_drive_one_session(page: Page, idle: Session) -> None:
    """A page prompts, Python queues, the page cancels the turn: both see all of it in one order."""
    uri = idle.chat.resource
    page.ready(uri)
    message = {"text": "/hang", "origin": USER}
    page.dispatch(uri, {"type": "chat/turnStarted", "turnId": "from-the-page", "message": message})
    assert page.envelope()["index"] > 0
    mine = idle.prompt("/say from Python")
    assert (idle.queue, mine.state) == (("/say from Python",), "queued")
    page.dispatch(uri, {"type": "chat/turnCancelled", "turnId": "from-the-page"}, seq=2)
    assert "rejectionReason" not in page.envelope(seq=2)
    assert mine.wait(PATIENCE).text == "from Python"
    theirs = idle.turns[0]
    assert ([each.id for each in idle.turns], theirs.state) == (["from-the-page", mine.id], "cancelled")
    other = Page(page.host, "page-2")
    other.ready()
    seen = other.ask("subscribe", {"channel": uri})["result"]["snapshot"]["state"]
    assert [each["id"] for each in seen["turns"]] == ["from-the-page", mine.id]


HALF = "\ud83d"
DEEP: Any = None
for _ in range(600):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "request_fields",
    [
        {"method": "complete", "params": DEEP},
        {"method": HALF, "params": {}},
        {"method": "complete", "params": {"channel": HALF, "start": HALF}},
        {"method": "complete", "params": object()},
        {"v": "1", "method": "ping"},
        {"method": "subscribe", "params": {"channel": 10**400}},
    ],
    ids=["deep", "half a character as method", "half a character", "no JSON", "version as text", "huge number"],
)
def test_unreadable_request_gets_an_error_answer(page: Page, request_fields: dict[str, Any]) -> None:
    """Without an answer the page would wait for ever. The channel stays open."""
    page.send({"v": 3, "clientId": "page-1", "id": 7, **request_fields})
    answer = page.hear("id")
    assert (answer["id"], "error" in answer) == (7, True)
    assert page.ask("subscribe", {"channel": ROOT})["result"]["snapshot"]["resource"] == ROOT


def test_page_and_kernel_use_the_highest_common_version(page: Page) -> None:
    """The answer and each later message have it."""
    older = Page(page.host, speaks=2)
    answer = older.ask("initialize", {"protocolVersions": [1, 2], "visible": True})
    older.say("ping", {})
    assert (answer["result"]["protocolVersion"], answer["v"], older.hear("pong")["v"]) == (2, 2, 2)


def test_older_page_gets_a_snapshot_for_an_unknown_action(page: Page, idle: Session) -> None:
    """The snapshot has the effect of the action, so nothing is lost. The page may not dispatch such an action."""
    older, uri = Page(page.host, speaks=0), channel_of(idle)
    older.ready(uri)
    happen(page.host, idle, SessionTitleChanged(title="Newer", time=1))
    flush = older.hear("actions")["params"]
    (snapshot,) = (each for each in flush["snapshots"] if each["resource"] == uri)
    older.say("ping", {})
    index = older.hear("pong")["params"]["indexes"][uri]
    assert (flush["envelopes"], snapshot["state"]["title"], snapshot["fromSeq"]) == ([], "Newer", index)
    older.dispatch(uri, {"type": "session/titleChanged", "title": "Mine"})
    assert "not in version 0" in older.envelope()["rejectionReason"]


def test_page_gets_a_snapshot_for_actions_without_a_reducer(page: Page, idle: Session) -> None:
    """Clients, customizations and MCP servers: no view shows them, and the page's bundle stays small."""
    page.ready(channel_of(idle))
    happen(page.host, idle, SessionActiveClientSet(active_client={"clientId": "c", "tools": []}))
    flush = page.hear("actions")["params"]
    assert flush["envelopes"] == []
    assert flush["snapshots"][0]["state"]["activeClients"] == [{"clientId": "c", "tools": []}]
