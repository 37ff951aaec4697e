"""Another host's conversations in a chat of this kernel (`agentnb.connect`)."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websockets

import agentnb
from agentnb import HostUnavailable, ProtocolError, Server, Session, UnsupportedVersion, UsageError
from agentnb.host import current_host
from agentnb.host.channels import ROOT
from agentnb.plugins.connect.remote.connecting import RemotePageService, connect_host
from agentnb.plugins.connect.remote.mirrored_host import REMOTE_HOST
from agentnb.state import ChatState, ToolCallPendingConfirmationState, ToolCallResponsePart
from tests.unit.server.websocket.attached_page import AttachedPage, MirroringPage
from tests.unit.server.websocket.relay import Relay

USER = {"kind": "user"}
Attach = Callable[..., AttachedPage]


@pytest.fixture
def attach(server: Server) -> Iterator[Attach]:
    """A page that follows the served host: ``attach(token)``; this kernel's own host acts as the other one."""
    opened = []

    def begin(token: str | None = None) -> AttachedPage:
        loop = current_host().loop
        connecting = connect_host(loop, server.address, server.token if token is None else token, name="there")
        mirror, client = loop.submit(connecting).result(30)
        opened.append(client)
        return AttachedPage(lambda send: RemotePageService(mirror, send))

    yield begin
    for client in opened:
        current_host().loop.submit(client.close()).result(10)


@contextlib.contextmanager
def nobody_there() -> Iterator[str]:
    """Yields an address that is in use but does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@contextlib.contextmanager
def other_host(serve: Callable[[ServerConnection], None]) -> Iterator[str]:
    """Serves WebSockets with another program; yields its address."""
    with serve_websockets(serve, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
        server.shutdown()
        thread.join()


def names(session: Session) -> tuple[str, str]:
    """Returns the channels of the session and its chat."""
    return f"{session.agent}:/{session.tab_id}", f"{session.agent}:/{session.tab_id}/chat"


def truth(session: Session) -> ChatState:
    """Returns the chat's state on its own host."""
    state: ChatState = current_host().loop.call(lambda: current_host().channel(names(session)[1]).state)
    return state


def prompt(page: MirroringPage, chat: str, text: str) -> str:
    """Sends a prompt from the page; returns the turn's id."""
    turn_id = str(uuid.uuid4())
    message = {"text": text, "origin": USER}
    page.dispatch(chat, {"type": "chat/turnStarted", "turnId": turn_id, "message": message})
    return turn_id


def waiting_call(chat: ChatState) -> ToolCallPendingConfirmationState | None:
    """Returns the tool call that waits for an answer."""
    parts = () if chat.active_turn is None else chat.active_turn.response_parts
    calls = [part.tool_call for part in parts if isinstance(part, ToolCallResponsePart)]
    return next((call for call in calls if isinstance(call, ToolCallPendingConfirmationState)), None)


def is_over(turn_id: str) -> Callable[[ChatState], bool]:
    return lambda chat: any(turn.id == turn_id for turn in chat.turns)


def test_page_prompts_approves_and_cancels_on_another_host(session: Session, attach: Attach) -> None:
    """The page shows that host's state, including agentnb's extensions: risks, plans, options, times."""
    page, (uri, chat) = attach(), names(session)
    page.follow(uri, chat)
    first = prompt(page, chat, "/plan 3")
    page.until(chat, is_over(first))

    second = prompt(page, chat, "/ask execute")
    call = waiting_call(page.until(chat, lambda state: waiting_call(state) is not None))
    assert call is not None
    option = next(each.id for each in call.options or () if each.kind == "approve")
    confirmation = {"type": "chat/toolCallConfirmed", "turnId": second, "toolCallId": call.tool_call_id}
    page.dispatch(chat, {**confirmation, "approved": True, "selectedOptionId": option})
    page.until(chat, is_over(second))

    third = prompt(page, chat, "/hang")
    page.until(chat, lambda state: state.active_turn is not None and state.active_turn.id == third)
    page.dispatch(chat, {"type": "chat/turnCancelled", "turnId": third})
    chat_state = page.until(chat, is_over(third))
    page.until_settled(chat)
    assert (
        page.until(chat, lambda state: state == truth(session)).turns[1].response_parts
        == chat_state.turns[1].response_parts
    )
    assert [turn.state for turn in chat_state.turns] == ["complete", "complete", "cancelled"]
    assert page.refusals == []


def test_page_opens_and_closes_conversations_on_another_host(session: Session, attach: Attach) -> None:
    """Each is listed with its own chat; a conversation closed there is closed here."""
    page = attach()
    made = page.ask("createSession", agent="eliza")
    page.until(ROOT, lambda root: {made["channel"], names(session)[0]} <= {each.resource for each in root.sessions})
    page.follow(made["channel"], made["chat"])
    turn = prompt(page, made["chat"], "/say here")
    page.until(made["chat"], is_over(turn))
    assert session.turns == ()
    page.ask("disposeSession", channel=made["channel"])
    page.until(ROOT, lambda root: made["channel"] not in {each.resource for each in root.sessions})
    with pytest.raises(RuntimeError, match="no channel"):
        page.ask("disposeSession", channel=made["channel"])


def test_page_catches_up_after_a_cut_without_loss_or_repeat(session: Session, relay: Relay) -> None:
    """Actions sent meanwhile apply once and missed changes are shown, however far back the other host's log goes."""
    uri, chat = names(session)
    with agentnb.serve(hosts=[relay.place]) as server:
        relay.lead_to(server.address)
        loop = current_host().loop
        mirror, client = loop.submit(connect_host(loop, f"ws://{relay.place}/", server.token, name="there")).result(30)
        page = AttachedPage(lambda send: RemotePageService(mirror, send))
        page.follow(uri, chat)
        for text in ("/say meanwhile", "/flood 6000"):
            relay.cut()
            page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "cut")
            session.prompt(text).wait()
            turn = prompt(page, chat, "/say afterwards")
            relay.mend()
            page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "connected")
            page.until(chat, is_over(turn))
        page.until_settled(chat)
        page.until(chat, lambda state: state == truth(session))
        loop.submit(client.close()).result(10)
    assert [turn.message.text for turn in truth(session).turns] == [
        "/say meanwhile",
        "/say afterwards",
        "/flood 6000",
        "/say afterwards",
    ]
    assert page.refusals == []


def test_action_beyond_the_token_rights_is_refused(server: Server, session: Session, attach: Attach) -> None:
    """So are the actions of the other host's own notebook."""
    page, (uri, chat) = attach(server.add_client("phone")), names(session)
    page.follow(uri, chat)
    prompt(page, chat, "/say no")
    page.until_settled(chat)
    page.dispatch(ROOT, {"type": "root/configChanged", "config": {"pairing": True}})
    page.until_settled(ROOT)
    reasons = [each.rejection_reason for each in page.refusals]
    assert reasons == ["phone may not drive.", "That can only be changed in the other host's own notebook."]
    for method, params, why in (
        ("createSession", {"agent": "eliza"}, "phone may not drive"),
        ("readFile", {"channel": uri, "path": "x"}, "phone may not drive"),
        ("listSettings", {}, "not available for the conversations of another host"),
        ("subscribe", {"channel": "eliza:/none"}, "no channel"),
        ("subscribe", {"channel": "eliza:/none/chat"}, "no channel"),
    ):
        with pytest.raises(RuntimeError, match=why):
            page.ask(method, **params)
    assert session.turns == ()


def test_page_reads_files_and_changes_of_another_host(session: Session, attach: Attach, tmp_path: Path) -> None:
    """As from a page of that kernel."""
    (tmp_path / "fit.txt").write_text("a fit\n")
    page, (uri, chat) = attach(), names(session)
    page.follow(uri, chat)
    text = "a long line\n" * 10_000
    turn = prompt(page, chat, text)
    chat_state = page.until(chat, is_over(turn))
    assert chat_state.turns[0].message.text != text
    ref = page.ask("fetchTurns", channel=chat)["turns"][0]["message"]["textRef"]
    whole = page.ask("fetchContent", channel=chat, uri=ref["uri"], offset=0, length=ref["size"])
    entries = page.ask("listFiles", channel=uri)["entries"]
    data = page.ask("readFile", channel=uri, path="fit.txt")["buffers"]
    changes = page.ask("subscribe", channel=f"{uri}/changes")["snapshot"]["state"]
    assert (whole["buffers"][0].decode(), data, changes["files"]) == (text, (b"a fit\n",), [])
    assert "fit.txt" in [each["name"] for each in entries]


def test_page_fetches_older_turns_from_another_host(session: Session, attach: Attach) -> None:
    """Also those that the snapshot does not have."""
    for number in range(33):
        session.prompt(f"/say {number}").wait()
    page, (uri, chat) = attach(), names(session)
    page.follow(uri, chat)
    first = page.until(chat, lambda state: state.turns).turns[0].id
    older = page.ask("fetchTurns", channel=chat, before=first, limit=50)["turns"]
    assert [each["message"]["text"] for each in older] == ["/say 0", "/say 1", "/say 2"]


def test_connect_returns_the_conversations_and_the_state(server: Server, session: Session) -> None:
    """The repr has no token and says when it was closed."""
    with agentnb.connect(server.url) as remote:
        assert ([each.title for each in remote.sessions][-1], remote.state, remote.message) == (
            "Tour",
            "connected",
            "",
        )
        assert remote.address == server.address
        assert "'Tour'" in repr(remote)
        assert server.token not in repr(remote)
        assert remote.chat(remote.sessions[-1].resource).what == {"kind": "chat", "tab": session.tab_id}
    assert (remote.state, "was closed" in repr(remote)) == ("ended", True)


def test_a_revoked_token_ends_the_connection_for_good(server: Server, session: Session, attach: Attach) -> None:
    """The chat says why; later actions are rejected."""
    page, (uri, chat) = attach(server.add_client("phone", rights=["drive"])), names(session)
    page.follow(uri, chat)
    server.revoke("phone")
    root = page.until(ROOT, lambda root: root.config.values[REMOTE_HOST]["state"] == "ended")
    prompt(page, chat, "/say no")
    page.until_settled(chat)
    assert "401" in root.config.values[REMOTE_HOST]["message"]
    assert "no connection" in str(page.refusals[0].rejection_reason)


def test_connect_fails_at_once_when_the_host_is_unavailable(server: Server) -> None:
    """Wrong token, no host, wrong address, no TLS."""
    with pytest.raises(HostUnavailable, match="401"):
        agentnb.connect(server.address, "w" * 43)
    with nobody_there() as place, pytest.raises(HostUnavailable, match="cannot be reached"):
        agentnb.connect(f"ws://{place}/", "t")
    for url, token, words in (
        ("http://127.0.0.1:1/", "t", "not a WebSocket address"),
        ("ws://127.0.0.1:x/", "t", "not an address"),
        ("ws://127.0.0.1:1/", None, "no token"),
        ("ws://example.org/", "t", "insecure=True"),
        ("ws://127.0.0.1:1/?token=%0a", None, "no token"),
    ):
        with pytest.raises(UsageError, match=words):
            agentnb.connect(url, token)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            {"error": {"code": -32005, "message": "no", "data": {"supportedVersions": ["0.3.0"]}}},
            UnsupportedVersion,
            "0.3.0",
        ),
        ({"error": {"code": -32009, "message": "Another client is connected."}}, HostUnavailable, "Another client"),
        ({"result": 17}, ProtocolError, "cannot read"),
        (
            {"result": {"snapshots": [{"resource": "ahp-root://", "state": {}, "fromSeq": 1}]}},
            ProtocolError,
            "cannot read|not a",
        ),
        ({"result": {"protocolVersion": "7.0.0", "snapshots": []}}, ProtocolError, "'7.0.0', which was not offered"),
        ({"result": {"protocolVersion": 1, "snapshots": []}}, ProtocolError, "'1', which was not offered"),
        (None, ProtocolError, "cannot read"),
    ],
)
def test_connect_fails_at_once_when_the_host_is_incompatible(
    answer: dict[str, Any] | None, kind: type[Exception], words: str
) -> None:
    """It has another version, refuses, or sends invalid answers."""

    def serve(socket: ServerConnection) -> None:
        request = json.loads(socket.recv())
        socket.send("[1]" if answer is None else json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}))
        with contextlib.suppress(ConnectionClosed):
            socket.recv()

    with other_host(serve) as address, pytest.raises(kind, match=words):
        agentnb.connect(address, "t")
