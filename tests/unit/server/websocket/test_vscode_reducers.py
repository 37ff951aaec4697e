"""Version 1.0 against VS Code's reducers: the protocol's own client mirrors the host with them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb import Server, Session
from tests.unit.server.websocket.client import USER, Client, chat_of, session_of
from tests.unit.server.websocket.conftest import Connect
from tests.unit.server.websocket.typescript_client import Peer, make_bundle, make_reducers_of_vscode, settled, states

LATER = ("1.0.0", "0.9.0")
ROOT_URI = "ahp-root://"


@pytest.fixture(scope="module")
def bundle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test's driver with the client and VS Code's reducers."""
    into = tmp_path_factory.mktemp("ahp")
    return make_bundle(shared, into, make_reducers_of_vscode(shared, into))


@pytest.fixture
def peer(bundle: Path) -> Iterator[Peer]:
    peer = Peer(bundle)
    yield peer
    peer.close()


@pytest.fixture
def host(server: Server, connect: Connect) -> Client:
    """A client that requests snapshots of the same version."""
    client = Client(server.address, server.add_client("truth"))
    client.initialize("truth", versions=LATER)
    return client


def prompt(peer: Peer, session: Session, text: str) -> str:
    """Sends a prompt; returns the turn's id."""
    turn_id = str(uuid.uuid4())
    began = {"startedAt": "2026-01-01T00:00:00.000Z", "message": {"text": text, "origin": USER}}
    peer.dispatch(chat_of(session), "chat/turnStarted", turnId=turn_id, **began)
    return turn_id


def wait_for_end(peer: Peer, session: Session, turn_id: str) -> Any:
    """Waits until the client has the finished turn; returns it."""
    state = peer.do("until", uri=chat_of(session), text=f'"turns":[{{"id":"{turn_id}"')
    return next(turn for turn in state["turns"] if turn["id"] == turn_id)


def connect_peer(peer: Peer, server: Server, *uris: str) -> None:
    """Connects the client with the newest version that it offers."""
    begun = peer.do("connect", url=server.url, id="theirs", versions=LATER, uris=[ROOT_URI, *uris])
    assert begun["protocolVersion"] == "1.0.0"


def test_mirror_equals_the_host_throughout_a_conversation(
    server: Server, session: Session, host: Client, peer: Peer
) -> None:
    """At each step, byte for byte but for times."""
    of_session, chat = session_of(session), chat_of(session)
    connect_peer(peer, server, of_session, chat)

    def check() -> None:
        mirrored, truth = states(peer, host, ROOT_URI, of_session, chat)
        assert mirrored == truth

    check()
    prompt(peer, session, "/say well met")
    peer.do("until", uri=chat, text='"state":"complete"')
    check()

    asking = prompt(peer, session, "/ask execute")
    state = peer.do("until", uri=chat, text='"status":"pending-confirmation"')
    check()
    call = state["activeTurn"]["responseParts"][-1]["toolCall"]
    approval = {"turnId": asking, "toolCallId": call["toolCallId"], "approved": True, "confirmed": "user-action"}
    peer.dispatch(chat, "chat/toolCallConfirmed", **approval)
    session.turns[1].wait()
    check()

    prompt(peer, session, "/form")
    state = peer.do("until", uri=chat, text='"kind":"inputRequest"')
    request = next(part for part in state["activeTurn"]["responseParts"] if part["kind"] == "inputRequest")["request"]
    check()
    peer.dispatch(chat, "chat/inputCompleted", requestId=request["id"], response="decline")
    session.turns[2].wait()
    check()
    kinds = [part["kind"] for part in peer.do("state", uri=chat)["turns"][2]["responseParts"]]
    assert "inputRequest" in kinds  # it stays, with its outcome

    prompt(peer, session, "/hang")
    peer.do("until", uri=chat, text="I am silent until you cancel.")
    queued = {"id": str(uuid.uuid4()), "kind": "queued", "message": {"text": "/say from the queue", "origin": USER}}
    peer.do("dispatch", uri=chat, action={"type": "chat/pendingMessageSet", **queued})
    peer.do("until", uri=chat, text="from the queue")
    check()
    peer.dispatch(chat, "chat/queuedMessagesReordered", order=[queued["id"]])
    peer.dispatch(chat, "chat/turnCancelled", turnId=session.turns[3].id, duration=5)
    assert session.turns[3].wait().state == "cancelled"
    check()

    prompt(peer, session, "/fail")
    peer.do("until", uri=chat, text='"kind":"error"')
    check()

    peer.do("cut")
    session.prompt("/plan 3").wait()
    back = peer.do("reconnect", url=server.url)
    assert (back["type"], back["missing"]) == ("replay", [])
    check()

    peer.do("cut")
    session.prompt("/tool search").wait()
    assert peer.do("reconnect", url=server.url, since=0)["type"] == "snapshot"
    check()
    assert peer.do("rejections") == []


def test_older_turns_arrive_as_an_action(server: Server, session: Session, host: Client, peer: Peer) -> None:
    """A client that got only the latest turns has all in the end, and no cursor."""
    for number in range(6):
        session.prompt(f"/say {number}").wait()
    chat = chat_of(session)
    connect_peer(peer, server)
    subscription = peer.do("request", method="subscribe", params={"channel": chat, "view": {"turns": 2}})
    assert [
        len(subscription["snapshot"]["state"]["turns"]),
        "turnsNextCursor" in subscription["snapshot"]["state"],
    ] == [2, True]
    cursor = peer.do("take", snapshot=subscription["snapshot"])["turnsNextCursor"]
    answers = []
    while cursor is not None:
        answers.append(peer.do("request", method="fetchTurns", params={"channel": chat, "cursor": cursor, "limit": 3}))
        cursor = peer.do("state", uri=chat).get("turnsNextCursor")
    assert answers == [{}, {}]
    assert settled(peer.do("state", uri=chat)) == settled(host.snapshot(chat))


def test_terminals_and_change_sets_are_mirrored(server: Server, session: Session, host: Client, peer: Peer) -> None:
    """A terminal, running and ended, with the chat that owns it; the files that a turn changed."""
    session.permissions = "allow"
    of_session = session_of(session)
    connect_peer(peer, server, of_session)
    changes = peer.do("state", uri=of_session)["changesets"][-1]
    peer.do("subscribe", uri=changes["uriTemplate"])
    session.prompt("/run echo fitted").wait()
    root = peer.do("until", uri=ROOT_URI, text='"lifecycle":{"status":"exited"')
    (terminal,) = [each for each in root["terminals"] if each["claim"]["chat"] == chat_of(session)]
    peer.do("subscribe", uri=terminal["resource"])
    session.prompt("/write fit.txt good").wait()
    peer.do("until", uri=changes["uriTemplate"], text="fit.txt")
    mirrored, truth = states(peer, host, ROOT_URI, of_session, terminal["resource"], changes["uriTemplate"])
    assert mirrored == truth
