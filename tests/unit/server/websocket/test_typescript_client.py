"""The Agent Host Protocol's own TypeScript client, if checked out, on a live conversation with eliza.

It mirrors the host with its own reducers, of version 0.5, and with those of a built VS Code, if there is one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb import Server, Session
from tests.unit.server.websocket.attached_page import AttachedPage
from tests.unit.server.websocket.client import USER, VERSIONS, Client, chat_of, session_of
from tests.unit.server.websocket.conftest import Connect
from tests.unit.server.websocket.typescript_client import Peer, make_bundle, make_reducers_of_vscode, settled, states

ROOT_URI = "ahp-root://"
LATER = ("startedAt", "duration")
"""Fields of turns that the client's own reducers do not know."""


@pytest.fixture(scope="module")
def bundle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test's driver with the client."""
    return make_bundle(shared, tmp_path_factory.mktemp("ahp"))


@pytest.fixture(scope="module")
def vscode_bundle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with VS Code's reducers."""
    into = tmp_path_factory.mktemp("vscode")
    return make_bundle(shared, into, make_reducers_of_vscode(shared, into))


def opened(bundle: Path) -> Iterator[Peer]:
    peer = Peer(bundle)
    yield peer
    peer.close()


@pytest.fixture
def peer(bundle: Path) -> Iterator[Peer]:
    yield from opened(bundle)


@pytest.fixture
def vscode(vscode_bundle: Path) -> Iterator[Peer]:
    yield from opened(vscode_bundle)


@pytest.fixture
def host(server: Server, connect: Connect) -> Client:
    """A client that requests snapshots of the same version."""
    return connect(server.add_client("truth"), "truth")


def prompt(peer: Peer, session: Session, text: str) -> str:
    """Sends a prompt; returns the turn's id."""
    turn_id = str(uuid.uuid4())
    began = {"startedAt": "2026-01-01T00:00:00.000Z", "message": {"text": text, "origin": USER}}
    peer.dispatch(chat_of(session), "chat/turnStarted", turnId=turn_id, **began)
    return turn_id


def connect_peer(peer: Peer, server: Server, *uris: str) -> None:
    """Connects the client with the newest version that it offers."""
    begun = peer.do("connect", url=server.url, id="theirs", versions=VERSIONS, uris=[ROOT_URI, *uris])
    assert begun["protocolVersion"] == "1.0.0"


@pytest.mark.parametrize("reducers", ["peer", "vscode"], ids=["its own reducers", "VS Code's reducers"])
def test_mirror_equals_the_host_throughout_a_conversation(
    server: Server, session: Session, host: Client, reducers: str, request: pytest.FixtureRequest
) -> None:
    """At each step, byte for byte but for times and, with its own reducers, what version 0.5 lacks."""
    peer: Peer = request.getfixturevalue(reducers)
    of_session, chat, is_own = session_of(session), chat_of(session), reducers == "peer"
    uris, without = ((ROOT_URI, chat), LATER) if is_own else ((ROOT_URI, of_session, chat), ())
    connect_peer(peer, server, of_session, chat)

    def check() -> None:
        mirrored, truth = states(peer, host, *uris, without=without)
        assert mirrored == truth

    check()
    prompt(peer, session, "/say well met")
    peer.do("until", uri=chat, text='"state":"complete"')
    assert session.turns[0].wait().text == "well met"
    check()

    asking = prompt(peer, session, "/ask execute")
    state = peer.do("until", uri=chat, text='"status":"pending-confirmation"')
    check()
    call = state["activeTurn"]["responseParts"][-1]["toolCall"]
    approval = {"turnId": asking, "toolCallId": call["toolCallId"], "approved": True, "confirmed": "user-action"}
    peer.dispatch(chat, "chat/toolCallConfirmed", **approval)
    assert "Allow once" in session.turns[1].wait().text
    check()

    prompt(peer, session, "/hang")
    peer.do("until", uri=chat, text="I am silent until you cancel.")  # AHP has no action for text after the turn's end
    queued = {"id": str(uuid.uuid4()), "kind": "queued", "message": {"text": "/say from the queue", "origin": USER}}
    peer.do("dispatch", uri=chat, action={"type": "chat/pendingMessageSet", **queued})
    peer.do("until", uri=chat, text="from the queue")
    check()
    peer.dispatch(chat, "chat/queuedMessagesReordered", order=[queued["id"]])
    peer.dispatch(chat, "chat/turnCancelled", turnId=session.turns[2].id, duration=5)
    assert session.turns[2].wait().state == "cancelled"
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


def test_form_and_error_are_mirrored_in_their_turns(
    server: Server, session: Session, host: Client, vscode: Peer
) -> None:
    """Version 0.5 has neither there. A form stays, with its outcome."""
    of_session, chat = session_of(session), chat_of(session)
    connect_peer(vscode, server, of_session, chat)

    def check() -> None:
        mirrored, truth = states(vscode, host, of_session, chat)
        assert mirrored == truth

    prompt(vscode, session, "/form")
    state = vscode.do("until", uri=chat, text='"kind":"inputRequest"')
    request = next(part for part in state["activeTurn"]["responseParts"] if part["kind"] == "inputRequest")["request"]
    check()
    vscode.dispatch(chat, "chat/inputCompleted", requestId=request["id"], response="decline")
    session.turns[0].wait()
    check()
    kinds = [part["kind"] for part in vscode.do("state", uri=chat)["turns"][0]["responseParts"]]
    assert "inputRequest" in kinds
    prompt(vscode, session, "/fail")
    vscode.do("until", uri=chat, text='"kind":"error"')
    check()


def test_page_python_and_typescript_client_prompt_at_once(
    server: Server, session: Session, connect: Connect, peer: Peer
) -> None:
    """All prompt at once: every prompt is answered once, and all see the same in the end."""
    chat, ours = chat_of(session), f"{session.agent}:/{session.tab_id}/chat"
    page = AttachedPage()
    page.follow(ours)
    peer.do("connect", url=server.url, id="theirs", versions=["1.0.0"], uris=[chat])
    prompts = []
    for number in range(3):
        turn = {"turnId": str(uuid.uuid4()), "message": {"text": f"/say theirs {number}", "origin": USER}}
        peer.dispatch(chat, "chat/turnStarted", **turn)
        turn = {"turnId": str(uuid.uuid4()), "message": {"text": f"/say page {number}", "origin": USER}}
        page.dispatch(ours, {"type": "chat/turnStarted", **turn})
        session.prompt(f"/say python {number}")
        prompts += [f"/say {who} {number}" for who in ("theirs", "page", "python")]
    chat_state = page.until(ours, lambda state: len(state.turns) == len(prompts) and state.active_turn is None)
    host = connect(server.add_client("truth"), "truth")
    mirrored, truth = states(peer, host, chat, without=LATER)
    assert sorted(turn.message.text for turn in chat_state.turns) == sorted(prompts)
    assert (mirrored, peer.do("rejections"), page.refusals) == (truth, [], [])


def test_older_turns_arrive_as_an_action(server: Server, session: Session, host: Client, vscode: Peer) -> None:
    """A client that got only the latest turns has all in the end, and no cursor."""
    for number in range(6):
        session.prompt(f"/say {number}").wait()
    chat = chat_of(session)
    connect_peer(vscode, server)
    subscription = vscode.do("request", method="subscribe", params={"channel": chat, "view": {"turns": 2}})
    assert [
        len(subscription["snapshot"]["state"]["turns"]),
        "turnsNextCursor" in subscription["snapshot"]["state"],
    ] == [2, True]
    cursor = vscode.do("take", snapshot=subscription["snapshot"])["turnsNextCursor"]
    answers = []
    while cursor is not None:
        answers.append(
            vscode.do("request", method="fetchTurns", params={"channel": chat, "cursor": cursor, "limit": 3})
        )
        cursor = vscode.do("state", uri=chat).get("turnsNextCursor")
    assert answers == [{}, {}]
    assert settled(vscode.do("state", uri=chat)) == settled(host.snapshot(chat))


def test_terminals_and_change_sets_are_mirrored(server: Server, session: Session, host: Client, vscode: Peer) -> None:
    """A terminal, running and ended, with the chat that owns it; the files that a turn changed."""
    session.permissions = "allow"
    of_session = session_of(session)
    connect_peer(vscode, server, of_session)
    changes = vscode.do("state", uri=of_session)["changesets"][-1]
    vscode.do("subscribe", uri=changes["uriTemplate"])
    session.prompt("/run echo fitted").wait()
    root = vscode.do("until", uri=ROOT_URI, text='"lifecycle":{"status":"exited"')
    (terminal,) = [each for each in root["terminals"] if each["claim"]["chat"] == chat_of(session)]
    vscode.do("subscribe", uri=terminal["resource"])
    session.prompt("/write fit.txt good").wait()
    vscode.do("until", uri=changes["uriTemplate"], text="fit.txt")
    mirrored, truth = states(vscode, host, ROOT_URI, of_session, terminal["resource"], changes["uriTemplate"])
    assert mirrored == truth
