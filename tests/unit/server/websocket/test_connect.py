"""Another host's conversations in a chat of this kernel (`agentnb.connect`): of agentnb, and of another program."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websockets

import agentnb
from agentnb import HostUnavailable, ProtocolError, Server, Session, UnsupportedVersion, UsageError
from agentnb.state import waiting_requests
from tests.unit.server.websocket.client import VERSIONS
from tests.unit.server.websocket.relay import Relay
from tests.unit.server.websocket.remote_page import (
    ROOT,
    RemotePage,
    ahp_form,
    asked,
    cancel,
    is_over,
    names,
    prompt,
    say,
)
from tests.unit.server.websocket.stranger import Stranger

Attach = Callable[..., RemotePage]


@pytest.fixture
def attach(server: Server) -> Iterator[Attach]:
    """A page that follows the served host: ``attach(token)``; with *version* as if that were not agentnb."""
    with contextlib.ExitStack() as opened:

        def begin(token: str | None = None, version: str | None = None, **options: bool) -> RemotePage:
            stranger = None if version is None else Stranger(server.address, version, **options)
            address = server.address if stranger is None else opened.enter_context(stranger.serve())
            page = RemotePage(address, server.token if token is None else token, stranger)
            opened.callback(page.close)
            assert (page.is_ours, version in (page.version, None)) == (stranger is None, True)
            return page

        yield begin


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


@pytest.mark.parametrize("version", [None, *VERSIONS], ids=["agentnb", *VERSIONS])
def test_page_prompts_approves_and_cancels_on_another_host(
    session: Session, attach: Attach, version: str | None
) -> None:
    """The page shows that host's state: of agentnb with its extensions (plans, options, times), else as AHP has it."""
    page, (uri, chat) = attach(version=version), names(session)
    page.follow(uri, chat)
    say(page, chat, "/plan 3")

    second = prompt(page, chat, "/ask execute")
    call = asked(page, chat)
    options = {each.kind: each.id for each in call.options or ()}
    approval = {"turnId": second, "toolCallId": call.tool_call_id, "approved": True}
    approval |= {"selectedOptionId": options["approve"]} if page.is_ours else {}
    page.dispatch(chat, {"type": "chat/toolCallConfirmed", **approval})
    page.until(chat, is_over(second))

    third = prompt(page, chat, "/form")
    (request,) = waiting_requests(page.until(chat, waiting_requests))
    page.dispatch(chat, {"type": "chat/inputCompleted", "requestId": request.id, "response": "decline"})
    page.until(chat, is_over(third))
    cancel(page, chat, prompt(page, chat, "/hang"))

    if page.stranger is not None:
        page.stranger.cut()
        page.until_link("cut")
    turns = say(page, chat, "/fail").turns
    assert [turn.state for turn in turns] == ["complete", "complete", "complete", "cancelled", "error"]
    page.until_settled(chat)
    page.until(chat, lambda state: ahp_form(state) == ahp_form(session.chat))
    if page.is_ours:
        page.until(chat, lambda state: state == session.chat)
    assert (turns[-1].error is None, page.refusals) == (False, [])


@pytest.mark.parametrize(
    "host",
    [{}, {"version": "1.0.0"}, {"version": "1.0.0", "hides_new": True}],
    ids=["agentnb", "another program", "one that lists new conversations late"],
)
def test_page_opens_and_closes_conversations_on_another_host(
    session: Session, attach: Attach, host: dict[str, Any]
) -> None:
    """Each is listed with its own chat, also after a cut; a conversation closed there is closed here."""
    page = attach(**host)
    made = page.ask("createSession", agent="eliza")
    page.until_listed(made["channel"], names(session)[0])
    page.follow(made["channel"], made["chat"])
    say(page, made["chat"], "/say here")
    if page.stranger is not None:
        page.stranger.cut()
        page.until_link("cut")
        page.until_link("connected")
        say(page, made["chat"], "/say again")
    assert session.turns == ()
    page.ask("disposeSession", channel=made["channel"])
    page.until_listed(but=made["channel"])
    with pytest.raises(RuntimeError, match="no channel"):
        page.ask("disposeSession", channel=made["channel"])


def test_unreadable_action_ends_the_mirror_with_the_reason(session: Session, attach: Attach) -> None:
    """Continuing would lose changes without notice."""
    page, (uri, chat) = attach(version="1.0.0"), names(session)
    page.follow(uri, chat)
    assert page.stranger is not None
    page.stranger.takes_numbers = True
    session.prompt("/say well met").wait()
    assert page.until_link("ended")["message"] == "The other host sent an action without 'serverSeq'."


def test_agentnb_extension_is_refused_with_the_reason(session: Session, attach: Attach) -> None:
    """Requests and actions of agentnb, by a host of another program."""
    page, (uri, chat) = attach(version="1.0.0"), names(session)
    page.follow(uri, chat)
    with pytest.raises(RuntimeError, match="does not offer this"):
        page.ask("listFiles", channel=uri)
    page.dispatch(uri, {"type": "x-agentnb/modeChanged", "modeId": "plain"})
    page.until_settled(uri)
    assert "does not support this" in str(page.refusals[0].rejection_reason)


def test_page_catches_up_after_a_cut_without_loss_or_repeat(session: Session, relay: Relay) -> None:
    """Actions sent meanwhile apply once and missed changes are shown, however far back the other host's log goes."""
    uri, chat = names(session)
    with agentnb.serve(hosts=[relay.place]) as server:
        relay.lead_to(server.address)
        page = RemotePage(f"ws://{relay.place}/", server.token)
        page.follow(uri, chat)
        for text in ("/say meanwhile", "/flood 6000"):
            relay.cut()
            page.until_link("cut")
            session.prompt(text).wait()
            turn = prompt(page, chat, "/say afterwards")
            relay.mend()
            page.until_link("connected")
            page.until(chat, is_over(turn))
        page.until_settled(chat)
        page.until(chat, lambda state: state == session.chat)
        page.close()
    texts = [turn.message.text for turn in session.chat.turns]
    assert texts == ["/say meanwhile", "/say afterwards", "/flood 6000", "/say afterwards"]
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
    assert say(page, chat, text).turns[0].message.text != text
    ref = page.ask("fetchTurns", channel=chat)["turns"][0]["message"]["textRef"]
    whole = page.ask("fetchContent", channel=chat, uri=ref["uri"], offset=0, length=ref["size"])
    entries = page.ask("listFiles", channel=uri)["entries"]
    data = page.ask("readFile", channel=uri, path="fit.txt")["buffers"]
    changes = page.ask("subscribe", channel=f"{uri}/changes")["snapshot"]["state"]
    assert (whole["buffers"][0].decode(), data, changes["files"]) == (text, (b"a fit\n",), [])
    assert "fit.txt" in [each["name"] for each in entries]


@pytest.mark.parametrize("version", [None, "1.0.0"], ids=["agentnb", "another program"])
def test_page_fetches_older_turns_from_another_host(session: Session, attach: Attach, version: str | None) -> None:
    """Those that the snapshot does not have; from another program with a cursor, also after a cut."""
    for number in range(33):
        session.prompt(f"/say {number}").wait()
    page, (uri, chat) = attach(version=version), names(session)
    page.follow(uri, chat)
    first = page.until(chat, lambda state: state.turns).turns[0].id
    older = page.ask("fetchTurns", channel=chat, before=first, limit=50)["turns"]
    assert [each["message"]["text"] for each in older] == ["/say 0", "/say 1", "/say 2"]
    if page.stranger is not None:
        page.stranger.cut()
        page.until_link("connected")
        session.prompt("/say on").wait()
        page.until(chat, lambda state: state.turns[-1].message.text == "/say on")
        assert len(page.ask("fetchTurns", channel=chat, before=first, limit=50)["turns"]) == 3


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
    link = page.until_link("ended")
    prompt(page, chat, "/say no")
    page.until_settled(chat)
    assert "401" in link["message"]
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
