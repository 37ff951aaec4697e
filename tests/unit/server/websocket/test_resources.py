"""A client changes files: with permission requests like an agent's, logged and undoable; never outside."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from agentnb import Server, Session
from tests.unit.server.websocket.client import Client, Failed, chat_of, decisions, own_session, own_sessions
from tests.unit.server.websocket.conftest import Connect

ROOT = "ahp-root://"


@pytest.fixture
def phone(server: Server, session: Session, connect: Connect) -> Iterator[Client]:
    """A client with the drive right; the workspace is that of *session*."""
    assert session.title
    yield connect(server.add_client("phone", rights=["drive"]), "phone")
    for own in own_sessions("phone"):
        own.close()


@pytest.fixture
def user(connect: Connect) -> Client:
    """A client with the approve right that sees which conversations exist."""
    return connect(None, "user", ROOT)


def answer(user: Client, approved: bool, before: Callable[[], Any] = lambda: None) -> dict[str, Any]:
    """Answers the next permission request of a client's conversation; returns it."""
    chat = user.notice("root/sessionAdded")["summary"]["resource"].replace("ahp-session", "ahp-chat")
    turn = user.snapshot(chat).get("activeTurn") or {"responseParts": []}
    parts = [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]
    waiting = [call for call in parts if call["status"] == "pending-confirmation"]
    card = waiting[0] if waiting else user.hear_action("chat/toolCallReady")["action"]
    turn_id = turn["id"] if waiting else card["turnId"]
    before()
    action = {"turnId": turn_id, "toolCallId": card["toolCallId"], "approved": approved}
    user.dispatch(chat, {"type": "chat/toolCallConfirmed", **action})
    return dict(card)


def allowing(phone: Client, user: Client, workspace: Path) -> Session:
    """Returns the client's conversation, with permissions set to allow."""
    number = phone.start("resourceMkdir", {"uri": (workspace / "first").as_uri()})
    answer(user, approved=True)
    phone.answer(number)
    own = own_session("phone")
    own.permissions = "allow"
    return own


@pytest.mark.usefixtures("brief_turns")
def test_file_written_by_a_client_is_approved_logged_and_undone(phone: Client, user: Client, tmp_path: Path) -> None:
    """The request shows the change, in a conversation named after the client."""
    path = tmp_path / "fit.py"
    path.write_text("x = 1\r\n")
    path.chmod(0o640)
    number = phone.start("resourceWrite", {"uri": path.as_uri(), "data": "x = 2\n", "encoding": "utf-8"})
    card = answer(user, approved=True, before=lambda: path.read_bytes() == b"x = 1\r\n" or pytest.fail("written"))
    assert phone.answer(number) == {}
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"x = 2\n", 0o640)
    own = own_session("phone")
    turn = own.turns[-1].wait()
    record = decisions(own)[-1]
    assert (card["confirmationTitle"], own.title) == ("Write fit.py", "phone (remote client)")
    assert (record.agent, record.tool, record.by, record.outcome) == ("remote-phone", "edit", "client editor", "allow")
    assert [(change.name, change.by) for change in turn.changes] == [("fit.py", ("toolCall",))]
    changesets = user.snapshot(f"ahp-session:/{own.tab_id}")["changesets"]
    files = user.snapshot(changesets[-1]["uriTemplate"].replace("{turnId}", turn.id))["files"]
    assert [each["edit"]["after"]["uri"].rpartition("/")[2] for each in files] == ["fit.py"], files
    turn.undo()
    assert path.read_bytes() == b"x = 1\r\n"


def test_client_requests_beyond_the_limit_are_refused(phone: Client, user: Client, tmp_path: Path) -> None:
    """Also if all come in one packet; those after the first 32 are refused and can be sent again."""
    assert user.seq >= 0  # with a user to ask, each request stays open until it is answered
    burst, params = b"", {"uri": (tmp_path / "new.txt").as_uri(), "data": "x", "encoding": "utf-8", "channel": ROOT}
    for number in range(1_000, 1_052):
        request = {"jsonrpc": "2.0", "id": number, "method": "resourceWrite", "params": params}
        burst += Frame(Opcode.TEXT, json.dumps(request).encode()).serialize(mask=True)
    phone.socket.socket.sendall(burst)
    refused = [phone.hear(lambda message: "error" in message)["error"]["message"] for _ in range(20)]
    assert set(refused) == {"32 requests are being carried out. Send it again later."}
    assert not [message for message in phone.heard if "result" in message and message["id"] >= 1_000]


def test_change_denied_by_the_user_is_not_made(phone: Client, user: Client, tmp_path: Path) -> None:
    """The error is the specification's and says who decided."""
    path = tmp_path / "keep.txt"
    path.write_text("kept")
    number = phone.start("resourceDelete", {"uri": path.as_uri()})
    answer(user, approved=False)
    with pytest.raises(Failed, match=r"Delete keep\.txt: the user denied it") as failed:
        phone.answer(number)
    assert (failed.value.code, path.read_text()) == (-32009, "kept")


@pytest.mark.usefixtures("nothing_shown")
def test_write_is_refused_when_no_user_can_approve(
    server: Server, phone: Client, connect: Connect, tmp_path: Path
) -> None:
    """A client cannot answer its own requests; one that may only watch is refused before any file is read."""
    path = tmp_path / "new.txt"
    assert phone.failure("resourceWrite", uri=path.as_uri(), data="x", encoding="utf-8") == -32009
    watcher = connect(server.add_client("watcher"), "watcher")
    params = {"uri": tmp_path.as_uri(), "source": "", "destination": "", "data": "", "encoding": "utf-8"}
    for method in ("Write", "Delete", "Move", "Copy", "Mkdir", "Resolve", "Request"):
        assert watcher.failure(f"resource{method}", **params) == -32009
    assert not path.exists()


def test_client_writes_moves_copies_and_deletes_files(phone: Client, user: Client, tmp_path: Path) -> None:
    """As specified, where the policy allows it; each is a tool call of the turn."""
    here = tmp_path.as_uri()
    own = allowing(phone, user, tmp_path)
    write = {"uri": f"{here}/first/a%20b.bin", "data": base64.b64encode(b"\xff\x00").decode(), "encoding": "base64"}
    phone.ask("resourceWrite", {**write, "createOnly": True})
    phone.ask("resourceWrite", {**write, "mode": "append"})
    phone.ask("resourceMkdir", {"uri": f"{here}/first/deep/er"})
    phone.ask("resourceMkdir", {"uri": f"{here}/first/deep"})
    phone.ask("resourceCopy", {"source": write["uri"], "destination": f"{here}/first/copy.bin"})
    phone.ask("resourceMove", {"source": f"{here}/first/copy.bin", "destination": f"{here}/first/deep/moved.bin"})
    paths = sorted(str(each.relative_to(tmp_path)) for each in (tmp_path / "first").rglob("*"))
    assert paths == ["first/a b.bin", "first/deep", "first/deep/er", "first/deep/moved.bin"]
    assert (tmp_path / "first/deep/moved.bin").read_bytes() == b"\xff\x00\xff\x00"
    phone.ask("resourceDelete", {"uri": f"{here}/first", "recursive": True})
    assert not (tmp_path / "first").exists()
    assert [call.title for call in own.turns[-1].tool_calls] == [
        "Create the folder first",
        "Write a b.bin",
        "Write a b.bin",
        "Create the folder er",
        "Write copy.bin",
        "Move copy.bin to first/deep/moved.bin",
        "Delete first and everything in it",
    ]


def test_impossible_change_gets_the_specified_error(phone: Client, user: Client, tmp_path: Path) -> None:
    """Nothing is changed and nobody is asked."""
    here = tmp_path.as_uri()
    own = allowing(phone, user, tmp_path)
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "first/b.txt").write_text("b")
    (tmp_path / ".env").write_text("KEY=1")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "fixed.txt").write_text("fixed")
    (tmp_path / "fixed.txt").chmod(0o444)
    etag = phone.ask("resourceResolve", {"uri": f"{here}/a.txt"})["etag"]
    write = {"data": "x", "encoding": "utf-8"}
    a_to_b = {"source": f"{here}/a.txt", "destination": f"{here}/first/b.txt"}
    expected: list[tuple[int, str, dict[str, Any]]] = [
        (-32010, "resourceWrite", {"uri": f"{here}/a.txt", **write, "createOnly": True}),
        (-32011, "resourceWrite", {"uri": f"{here}/first/b.txt", **write, "ifMatch": etag}),
        (-32011, "resourceWrite", {"uri": f"{here}/none.txt", **write, "ifMatch": etag}),
        (-32008, "resourceWrite", {"uri": f"{here}/none/a.txt", **write}),
        (-32008, "resourceWrite", {"uri": f"{here}/first", **write}),
        (-32008, "resourceWrite", {"uri": f"{here}/pipe", **write}),
        (-32602, "resourceWrite", {"uri": f"{here}/a.txt", "data": "?", "encoding": "base64"}),
        (-32602, "resourceWrite", {"uri": f"{here}/a.txt", **write, "position": -1}),
        (-32010, "resourceMkdir", {"uri": f"{here}/a.txt"}),
        (-32008, "resourceDelete", {"uri": f"{here}/none"}),
        (-32602, "resourceDelete", {"uri": f"{here}/first"}),
        (-32009, "resourceDelete", {"uri": here, "recursive": True}),
        (-32010, "resourceMove", {**a_to_b, "failIfExists": True}),
        (-32010, "resourceMove", {**a_to_b, "destination": f"{here}/first"}),
        (-32008, "resourceMove", {**a_to_b, "source": f"{here}/none"}),
        (-32008, "resourceMove", {**a_to_b, "destination": f"{here}/none/a.txt"}),
        (-32010, "resourceCopy", {**a_to_b, "failIfExists": True}),
        (-32008, "resourceCopy", {**a_to_b, "source": f"{here}/first"}),
        (-32009, "resourceCopy", {**a_to_b, "source": f"{here}/.env"}),
        (-32009, "resourceRequest", {"uri": f"{here}/.env", "read": True}),
        (-32008, "resourceResolve", {"uri": f"{here}/none"}),
        (-32008, "resourceResolve", {"uri": f"{here}/pipe"}),
    ]
    assert [phone.failure(method, **params) for _, method, params in expected] == [code for code, _, _ in expected]
    assert phone.failure("resourceWrite", uri=f"{here}/fixed.txt", **write) == -32008
    kept = [(tmp_path / name).read_text() for name in ("a.txt", "first/b.txt", ".env", "fixed.txt")]
    assert kept == ["a", "b", "KEY=1", "fixed"]
    assert [call.title for call in own.turns[-1].tool_calls] == ["Create the folder first", "Write fixed.txt"]


def test_client_cannot_reach_files_outside_the_workspace(phone: Client, tmp_path: Path) -> None:
    """By absolute paths, ``..``, links out, links in a circle, other machines and other schemes."""
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "a.txt").write_text("hidden")
    (tmp_path / "out").symlink_to(outside)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "inside.txt").write_text("inside")
    here = tmp_path.as_uri()
    uris = [f"{outside.as_uri()}/a.txt", f"{here}/../{outside.name}/a.txt", f"{here}/out/a.txt", f"{here}/loop/a.txt"]
    uris += [f"{here}/%2e%2e/{outside.name}/a.txt", "file:///etc/passwd", "file://elsewhere/a", f"{here}/a%00b"]
    inside, new = f"{here}/inside.txt", f"{here}/new.txt"
    for uri in uris:
        params = {"uri": uri, "data": "x", "encoding": "utf-8", "recursive": True}
        for method in ("Write", "Delete", "Mkdir", "Resolve", "Request"):
            assert phone.failure(f"resource{method}", **params) in {-32008, -32009}, uri
        for method in ("Move", "Copy"):
            for source, destination in ((inside, uri), (uri, new)):
                places = {"source": source, "destination": destination}
                assert phone.failure(f"resource{method}", **places) in {-32008, -32009}, uri
    assert [each.name for each in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == "hidden"
    assert own_sessions("phone") == []


def test_moving_or_deleting_a_link_keeps_its_target(phone: Client, user: Client, tmp_path: Path) -> None:
    """Resolves with or without following the link."""
    allowing(phone, user, tmp_path)
    here = tmp_path.as_uri()
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    followed = phone.ask("resourceResolve", {"uri": f"{here}/link"})
    itself = phone.ask("resourceResolve", {"uri": f"{here}/link", "followSymlinks": False})
    assert (followed["uri"], followed["type"], followed["size"]) == (f"{here}/a.txt", "file", 1)
    assert (itself["uri"], itself["type"]) == (f"{here}/link", "symlink")
    phone.ask("resourceMove", {"source": f"{here}/link", "destination": f"{here}/other"})
    assert (tmp_path / "other").is_symlink()
    phone.ask("resourceDelete", {"uri": f"{here}/other"})
    assert ((tmp_path / "other").is_symlink(), (tmp_path / "a.txt").read_text()) == (False, "a")


def test_file_that_changes_during_approval_needs_a_new_approval(phone: Client, user: Client, tmp_path: Path) -> None:
    """The new request shows the new content."""
    path = tmp_path / "log.txt"
    path.write_text("one\n")
    params = {"uri": path.as_uri(), "data": "end\n", "encoding": "utf-8", "mode": "append"}
    number = phone.start("resourceWrite", params)
    answer(user, approved=True, before=lambda: path.write_text("one\ntwo\n"))
    card = user.hear_action("chat/toolCallReady")["action"]
    approval = {"turnId": card["turnId"], "toolCallId": card["toolCallId"], "approved": True}
    user.dispatch(chat_of(own_session("phone")), {"type": "chat/toolCallConfirmed", **approval})
    assert phone.answer(number) == {}
    assert (card["confirmationTitle"], path.read_text()) == (
        "Write log.txt, which has changed in the meantime",
        "one\ntwo\nend\n",
    )


def test_permission_request_ends_when_the_client_leaves(
    server: Server, phone: Client, user: Client, tmp_path: Path
) -> None:
    """A late approval is rejected and writes nothing."""
    path, ends = tmp_path / "late.txt", []

    def leave() -> None:
        server.revoke("phone")
        ends.append(user.hear_action("chat/toolCallConfirmed")["action"]["approved"])

    phone.start("resourceWrite", {"uri": path.as_uri(), "data": "x", "encoding": "utf-8"})
    answer(user, approved=True, before=leave)
    late = user.hear_action("chat/toolCallConfirmed")
    assert (ends, "rejectionReason" in late, path.exists()) == ([False], True, False)
