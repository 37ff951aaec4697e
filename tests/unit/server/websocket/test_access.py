"""Who may connect, the rights of each client, and what the user sees of it."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

import agentnb
from agentnb import Server, Session, UsageError
from tests.unit.forked import run_agentnb
from tests.unit.server.websocket.attached_page import AttachedPage
from tests.unit.server.websocket.client import Client, Failed, chat_of, decisions, session_of
from tests.unit.server.websocket.conftest import Connect

ROOT = "ahp-root://"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what must be refused


def refusal(server: Server, token: str, **options: Any) -> int | None:
    """Returns the HTTP status of a refused connection; None if it is accepted."""
    try:
        Client(server.address, token, **options).close()
    except InvalidStatus as refused:
        return refused.response.status_code
    return None


def test_wrong_token_is_refused_before_the_connection_opens(server: Server) -> None:
    for token in ("", "x", "x" * 43, "\u00e9" * 50):
        headers = {"Authorization": f"Bearer {token}".encode("latin-1", "ignore").decode("latin-1")}
        assert refusal(server, token, headers=headers) == 401


def test_token_in_the_address_works_like_one_in_a_header(server: Server) -> None:
    """Some clients can only be given an address."""
    assert refusal(server, "wrong", headers={"Authorization": ""}) == 401
    behind_proxy = f"{server.address}?token=of-jupyter&agentnb_token={server.token}"
    for url in (server.url, behind_proxy):
        client = Client(url, "wrong", headers={"Authorization": ""})
        assert client.initialize("me")["protocolVersion"] == "1.0.0"
        client.close()
    with agentnb.connect(behind_proxy) as remote:
        assert remote.state == "connected"


def test_expired_or_revoked_token_is_refused_and_disconnected(server: Server, connect: Connect) -> None:
    expired, revoked = server.add_client("old", expires=0.0), server.add_client("phone")
    client = connect(revoked)
    assert ([each.name for each in server.clients], server.revoke("phone")) == (["phone"], True)
    assert (client.end()[0], server.clients) == (1008, ())
    assert [refusal(server, token) for token in (expired, revoked)] == [401, 401]


def test_a_token_that_expires_ends_its_connection(server: Server, connect: Connect) -> None:
    """The connection in use ends too, not only the next one."""
    client = connect(server.add_client("guest", expires=3.0))
    assert client.ask("ping", {}) == {}
    assert client.end() == (1008, "The token has expired.")


def test_connections_of_one_client_are_limited(server: Server, connect: Connect) -> None:
    """One token cannot keep others out, however many silent connections it opens."""
    token = server.add_client("many")
    silent = [Client(server.address, token) for _ in range(4)]
    assert refusal(server, token) == 503
    assert connect(None, "me").ask("ping", {}) == {}
    for each in silent:
        each.close()


def test_token_in_use_is_refused_to_another_client(server: Server, connect: Connect) -> None:
    """The same client replaces its old connection, which may be half open."""
    first = connect(None, "me")
    with pytest.raises(Failed) as failed:
        connect(None, "somebody")
    connect(None, "me")
    first.end()
    assert (failed.value.code, [each.client_id for each in server.clients]) == (-32009, ["me"])


def test_other_origins_and_host_names_are_refused(server: Server) -> None:
    """A web page cannot connect even with the token, also by DNS rebinding."""
    for origin in ("https://evil.example", "null", "http://localhost"):
        assert refusal(server, server.token, headers={"Origin": origin}) == 403
    assert refusal(server, server.token, headers={"Host": "evil.example"}) == 400


def test_named_hosts_and_origins_are_accepted_on_any_path() -> None:
    """A proxy may use another host name and a path prefix."""
    with agentnb.serve(hosts=["hub.example"], origins=["https://hub.example"]) as server:
        client = Client(f"{server.address}user/ada/proxy/1/", server.token, headers={"Origin": "https://hub.example"})
        assert client.initialize("me")["snapshots"] == []
        client.close()


def test_client_with_the_watch_right_can_only_watch(server: Server, session: Session, connect: Connect) -> None:
    """Prompts, approvals, settings and commands; the error says why."""
    watcher = connect(server.add_client("phone", rights=["watch"]), "phone", chat_of(session))
    reasons = []
    for uri, action in (
        (chat_of(session), {"type": "chat/turnCancelled", "turnId": "t"}),
        (chat_of(session), {"type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "c", "approved": True}),
        (session_of(session), {"type": "session/configChanged", "config": {"permissions": "allow"}}),
    ):
        watcher.dispatch(uri, action)
        reasons.append(watcher.hear_action(str(action["type"]))["rejectionReason"])
    watcher.prompt(session, "/say no", str(uuid.uuid4()))
    reasons.append(watcher.hear_action("chat/turnStarted")["rejectionReason"])
    params = {"channel": session_of(session), "uri": "file:///", "operationId": "undo"}
    methods = "createSession", "disposeSession", "resourceRead", "invokeChangesetOperation"
    codes = [watcher.failure(method, **params) for method in methods]
    drive, approve = "phone may not drive.", "phone may not approve."
    assert (reasons, codes) == ([drive, approve, approve, drive], [-32009] * 4)
    assert (session.turns, session.permissions) == ((), "ask")


def test_client_sees_only_its_allowed_sessions(
    server: Server, session: Session, connect: Connect, tmp_path: Path
) -> None:
    """Others are not listed and cannot be followed; actions there are ignored."""
    other = agentnb.start("eliza", cwd=tmp_path)
    client = connect(
        server.add_client("b", rights=["drive"], sessions=[session]), "b", chat_of(other), chat_of(session)
    )
    assert list(client.snapshots) == [chat_of(session)]
    code = client.failure("subscribe", channel=session_of(other))
    client.prompt(other, "/say no", str(uuid.uuid4()))
    listed = [each["resource"] for each in client.ask("listSessions", {})["items"]]
    assert (code, listed, other.turns) == (-32001, [session_of(session)], ())
    other.close()


def test_action_reserved_for_the_host_is_rejected(session: Session, connect: Connect) -> None:
    """Whatever its content; nothing changes."""
    client = connect(None, "me", chat_of(session))
    for kind in ("chat/delta", "session/ready", "chat/turnComplete", "x-agentnb/late", "no/such"):
        action: dict[str, Any] = {"type": kind, "turnId": "t", "partId": "p", "content": "x", "action": {}}
        seq = client.dispatch(chat_of(session), action)
        envelope = client.hear(lambda message: message.get("method") == "action")["params"]
        assert (envelope["origin"], "rejectionReason" in envelope) == ({"clientId": "me", "clientSeq": seq}, True)
    assert session.turns == ()


def test_extension_request_needs_its_right_and_a_visible_channel(
    server: Server, session: Session, connect: Connect, tmp_path: Path
) -> None:
    """Errors name the cause; a method without a right in its row is for pages of this kernel only."""
    other = agentnb.start("eliza", cwd=tmp_path)
    watcher = connect(server.add_client("phone", rights=["watch"]), "phone")
    driver = connect(server.add_client("b", rights=["drive"], sessions=[session]), "b")
    here, elsewhere = {"channel": session_of(session)}, {"channel": session_of(other)}
    assert watcher.failure("x-agentnb/listFiles", **here) == -32009
    for code, method, params in (
        (-32601, "x-agentnb/listSettings", here),
        (-32601, "listFiles", here),
        (-32001, "x-agentnb/listFiles", elsewhere),
        (-32001, "x-agentnb/listFiles", {"channel": 7}),
        (-32602, "x-agentnb/readFile", {**here, "path": 7}),
        (-32009, "x-agentnb/readFile", {**here, "path": "/etc/passwd"}),
    ):
        assert driver.failure(method, **params) == code
    assert driver.ask("x-agentnb/listFiles", here)["path"] == "."
    other.close()


def test_no_client_can_trust_the_skills_of_a_package(server: Server, session: Session, connect: Connect) -> None:
    """Not with all rights, as another kernel's page, or by enabling a plugin: only a page of this kernel can."""
    client = connect(server.add_client("b", rights=["drive", "approve"]), "b", session_of(session))
    choice = {"action": "trust", "package": "polars", "digest": "0" * 64}
    of_session = {"channel": session_of(session), **choice}
    codes = [client.failure("changeSkillTrust", **choice), client.failure("x-agentnb/changeSkillTrust", **of_session)]
    toggled = {"type": "session/customizationToggled", "id": "offer:polars", "enabled": True}
    client.dispatch(session_of(session), toggled)
    envelope = client.hear(lambda message: message.get("method") == "action")["params"]
    assert (codes, "rejectionReason" in envelope) == ([-32601, -32601], True)


def test_repeated_client_sequence_number_is_rejected(session: Session, connect: Connect) -> None:
    """A client that calls itself `python` is still a client; its second action with one number is not applied."""
    client = connect(None, "python", session_of(session))
    for title in ("first", "second"):
        client.dispatch(session_of(session), {"type": "session/titleChanged", "title": title}, client_seq=7)
    envelopes = [client.hear_action("session/titleChanged") for _ in range(2)]
    assert ([each["origin"]["clientSeq"] for each in envelopes], "rejectionReason" in envelopes[1]) == ([7, 7], True)
    assert session.title == "first"


def test_chat_and_log_show_connected_clients(server: Server, session: Session, connect: Connect) -> None:
    """By name and rights, until it has left."""
    page = AttachedPage()

    def shown(clients: list[str]) -> Any:
        return page.until(ROOT, lambda root: root.config and root.config.values.get("remoteClients") == clients)

    client = connect(server.add_client("phone"), "phone", ROOT)
    shown(["phone, watching"])
    server.revoke("phone")
    client.end()
    shown([])
    records = [(record.tool, record.what) for record in decisions() if record.kind == "client"]
    assert records[-2:] == [("connected", "phone, watching"), ("disconnected", "phone, watching")]


def test_the_token_is_in_no_log_and_no_representation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither are the tokens of refused clients."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    with agentnb.serve() as server:
        wrong = "w" * 43
        assert refusal(server, wrong) == 401
        client = Client(server.url, server.token)
        client.initialize("me")
        text = repr(server) + repr(server.clients) + caplog.text
        client.close()
    ours = "\n".join(each.getMessage() for each in caplog.records if not each.name.startswith("websockets.client"))
    assert (server.token in repr(server) + ours, wrong in ours, "Serving at" in text) == (False, False, True)


def test_file_of_a_served_kernel_is_private_and_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`agentnb serve` reads it; the file of an ended process is removed."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with agentnb.serve() as server:
        token = server.add_client("phone", rights=["approve"])
        (file,) = tmp_path.glob("agentnb-serve-*.json")
        left = tmp_path / "agentnb-serve-left.json"
        left.write_text(json.dumps({**json.loads(file.read_text()), "pid": gone.pid}))
        lines = run_agentnb("serve").stdout.splitlines()
        assert (stat.S_IMODE(file.stat().st_mode), left.exists()) == (0o600, False)
        assert lines[2] == f"  phone, watching and approving: {server.address}?token={token}"
        assert [line for line in lines if not line.startswith(" ")] == lines[:1]
    assert list(tmp_path.iterdir()) == []


def test_public_address_needs_tls_or_the_insecure_option(tmp_path: Path) -> None:
    """The error says what to do."""
    with pytest.raises(UsageError, match="insecure=True"):
        agentnb.serve(EVERYWHERE)
    with agentnb.serve(EVERYWHERE, insecure=True) as server:
        assert server.address.startswith("ws://0.0.0.0:")
    with pytest.raises(UsageError, match="served already"), agentnb.serve():
        agentnb.serve()


def test_client_needs_a_free_name_and_known_rights(server: Server) -> None:
    for wrong in (lambda: server.add_client("editor"), lambda: server.add_client("x", rights=["own"])):  # type: ignore[list-item]
        with pytest.raises(UsageError):
            wrong()
    with pytest.raises(UsageError):
        server.add_client("  ")
