"""The Agent Host Protocol's own TypeScript client, if checked out, on a live conversation with eliza."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb import Server, Session
from tests.unit.server.websocket.attached_page import AttachedPage
from tests.unit.server.websocket.client import USER, chat_of, own_session, session_of
from tests.unit.server.websocket.conftest import Connect
from tests.unit.server.websocket.typescript_client import Peer, make_bundle, states


@pytest.fixture(scope="module")
def bundle(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test's driver with the client."""
    return make_bundle(shared, tmp_path_factory.mktemp("ahp"))


@pytest.fixture
def peer(bundle: Path) -> Iterator[Peer]:
    peer = Peer(bundle)
    yield peer
    peer.close()


LATER = ("startedAt", "duration")
"""Fields of turns that the client's reducers, of version 0.5, do not know."""


def test_typescript_client_mirrors_a_conversation_and_reconnects(
    server: Server, session: Session, connect: Connect, peer: Peer
) -> None:
    """At each step the mirror's root and chat equal the host's, but for times and what 0.5 lacks."""
    root, of_session, chat = "ahp-root://", session_of(session), chat_of(session)
    host = connect(server.add_client("truth"), "truth")
    begun = peer.do("connect", url=server.url, id="theirs", versions=["1.0.0"], uris=[root, of_session, chat])
    assert begun["protocolVersion"] == "1.0.0"
    mirrored, truth = states(peer, host, root, chat, without=LATER)
    assert mirrored == truth

    turns = [str(uuid.uuid4()) for _ in range(4)]
    peer.dispatch(chat, "chat/turnStarted", turnId=turns[0], message={"text": "/say well met", "origin": USER})
    peer.do("until", uri=chat, text='"state":"complete"')
    assert session.turns[0].wait().text == "well met"

    peer.dispatch(chat, "chat/turnStarted", turnId=turns[1], message={"text": "/ask execute", "origin": USER})
    state = peer.do("until", uri=chat, text='"status":"pending-confirmation"')
    call = state["activeTurn"]["responseParts"][-1]["toolCall"]
    approval = {"turnId": turns[1], "toolCallId": call["toolCallId"], "approved": True, "confirmed": "user-action"}
    peer.dispatch(chat, "chat/toolCallConfirmed", **approval)
    assert "Allow once" in session.turns[1].wait().text

    peer.dispatch(chat, "chat/turnStarted", turnId=turns[2], message={"text": "/hang", "origin": USER})
    peer.do("until", uri=chat, text="I am silent until you cancel.")  # AHP has no action for text after the turn's end
    peer.dispatch(chat, "chat/turnCancelled", turnId=turns[2])
    assert session.turns[2].wait().state == "cancelled"
    mirrored, truth = states(peer, host, root, chat, without=LATER)
    assert mirrored == truth

    peer.do("cut")
    session.prompt("/plan 3").wait()
    back = peer.do("reconnect", url=server.url)
    assert (back["type"], back["missing"]) == ("replay", [])
    mirrored, truth = states(peer, host, root, chat, without=LATER)
    assert mirrored == truth

    peer.do("cut")
    session.prompt("/tool search").wait()
    assert peer.do("reconnect", url=server.url, since=0)["type"] == "snapshot"
    mirrored, truth = states(peer, host, root, chat, without=LATER)
    assert mirrored == truth
    assert peer.do("rejections") == []


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


def test_typescript_client_approves_and_mirrors_a_file_change(
    server: Server, session: Session, connect: Connect, peer: Peer, tmp_path: Path
) -> None:
    """The client's own conversation is like any other: listed, followed, answered."""
    assert session.title
    phone = connect(server.add_client("phone", rights=["drive"]), "phone")
    host = connect(server.add_client("truth"), "truth", "ahp-root://")
    peer.do("connect", url=server.url, id="theirs", versions=["1.0.0"], uris=["ahp-root://"])
    number = phone.start("resourceWrite", {"uri": (tmp_path / "a.txt").as_uri(), "data": "a", "encoding": "utf-8"})
    added = host.hear(lambda message: message.get("method") == "root/sessionAdded")["params"]["summary"]["resource"]
    uris = added, added.replace("ahp-session", "ahp-chat")
    for uri in uris:
        peer.do("subscribe", uri=uri)
    turn = peer.do("until", uri=uris[1], text='"status":"pending-confirmation"')["activeTurn"]
    call = turn["responseParts"][-1]["toolCall"]
    approval = {"turnId": turn["id"], "toolCallId": call["toolCallId"], "approved": True, "confirmed": "user-action"}
    peer.dispatch(uris[1], "chat/toolCallConfirmed", **approval)
    assert (phone.answer(number), (tmp_path / "a.txt").read_text()) == ({}, "a")
    mirrored, truth = states(peer, host, "ahp-root://", uris[1], without=LATER)
    assert mirrored == truth
    own_session("phone").close()
