"""The attacks on a served kernel, run against the phones' server and its page."""

from __future__ import annotations

import http.client
import re
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from agentnb import Session
from tests.conftest import ROOT
from tests.unit.plugins.phone.conftest import Phones
from tests.unit.server.asking_page import Page
from tests.unit.server.websocket.client import Client, Failed, chat_of, session_of
from tests.unit.server.websocket.conftest import Connect
from tests.unit.server.websocket.test_access import (
    refusal,
    test_connections_of_one_client_are_limited,
    test_other_origins_and_host_names_are_refused,
    test_wrong_token_is_refused_before_the_connection_opens,
)
from tests.unit.server.websocket.test_bad_input import (
    test_a_client_that_sends_too_much_is_disconnected,
    test_bad_frame_ends_only_its_own_connection,
    test_fragments_are_read_as_one_message,
    test_malformed_message_gets_a_json_rpc_error,
    test_server_declines_compression,
    test_silent_connections_do_not_block_other_clients,
)

__all__ = [
    "test_a_client_that_sends_too_much_is_disconnected",
    "test_bad_frame_ends_only_its_own_connection",
    "test_connections_of_one_client_are_limited",
    "test_fragments_are_read_as_one_message",
    "test_malformed_message_gets_a_json_rpc_error",
    "test_other_origins_and_host_names_are_refused",
    "test_server_declines_compression",
    "test_silent_connections_do_not_block_other_clients",
    "test_wrong_token_is_refused_before_the_connection_opens",
]
NONE = {"Authorization": ""}
OTHERS = re.compile(r"^\| `([\w/-]+)` \| (?:approve|drive|watch) \| (?!Notification)", re.MULTILINE)
"""The commands in the reference that need a right which phones do not have."""


def get(server: Phones, target: str = "/", **headers: str) -> tuple[int, dict[str, str], str]:
    """Returns the answer to a browser that loads a page."""
    connection = http.client.HTTPConnection("127.0.0.1", server.first["port"], timeout=60)
    connection.request("GET", target, headers=headers)
    answer = connection.getresponse()
    page = answer.status, dict(answer.getheaders()), answer.read().decode()
    connection.close()
    return page


def test_phone_can_only_answer_permission_requests(server: Phones, session: Session, connect: Connect) -> None:
    """Every other command and every action is refused, whatever its parameters."""
    client = connect(server.add_client(), "phone")
    params = {"channel": session_of(session), "uri": "file:///etc/passwd", "source": "file:///a", "operationId": "undo"}
    params |= {"destination": "file:///b", "data": "x", "encoding": "utf-8", "turnId": "t", "toolCallId": "c"}
    commands = OTHERS.findall((ROOT / "docs/reference/ahp.md").read_text())
    assert {"createSession", "resourceWrite", "subscribe", "x-agentnb/readFile"} <= {*commands}
    for name in commands:
        with pytest.raises(Failed) as failed:
            client.ask(name, params)
        assert (name, failed.value.code) == (name, -32009)
    client.dispatch(session_of(session), {"type": "session/configChanged", "config": {"permissions": "allow"}})
    client.dispatch(chat_of(session), {"type": "chat/turnStarted", "turnId": "t", "message": {"text": "/say hi"}})
    assert client.ask("ping", {}) == {}
    assert (session.permissions, session.turns) == ("ask", ())


def test_pairing_code_works_for_one_phone_only(server: Phones) -> None:
    """A photo of the code is useless: only its first user can ever connect."""
    first = Client(server.address, server.token)
    first.initialize("mine")
    first.close()
    second = Client(server.address, server.token)
    with pytest.raises(Failed, match="Another client is connected with this token"):
        second.initialize("another")
    second.close()
    again = Client(server.address, server.token)
    assert again.initialize("mine")["snapshots"] == []
    again.close()


def test_unused_pairing_code_expires(brief: None, server: Phones) -> None:
    assert refusal(server, server.token) == 401  # type: ignore[arg-type]


def test_unpairing_closes_connections_and_stops_the_server(server: Phones) -> None:
    """The phones get the reason; their codes do not work with a later pairing."""
    client, token = server.phone(), server.token
    server.unpair()
    with pytest.raises(ConnectionClosed) as closed:
        client.ask("ping", {})
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4001
    with pytest.raises(OSError, match="refused"):
        Client(server.address, token)
    assert server.look()["isOn"] is False
    later = Phones()
    assert refusal(later, token) == 401  # type: ignore[arg-type]


def test_token_is_accepted_only_in_a_header(server: Phones, tmp_path: Path) -> None:
    """Logs contain addresses; the token is in no file and no page either."""
    for query in (f"?token={server.token}", f"?agentnb_token={server.token}"):
        with pytest.raises(Exception, match="401"):
            Client(server.address + query, "", headers=NONE)
    phone = Client(server.address, "", headers=NONE, subprotocols=["agentnb", f"agentnb.token.{server.token}"])
    assert phone.initialize("me")["protocolVersion"] == "1.0.0"
    assert phone.socket.subprotocol == "agentnb"
    phone.close()
    twice = ["agentnb", *(f"agentnb.token.{server.token}" for _ in range(2))]
    with pytest.raises(Exception, match="401"):
        Client(server.address, "", headers=NONE, subprotocols=twice)
    assert list((tmp_path / "runtime").glob("*")) == []
    assert server.token not in get(server)[2]


def test_page_runs_only_its_own_script_and_cannot_be_framed(server: Phones) -> None:
    """Its policy has the digests of its parts; it connects only to the kernel."""
    status, headers, text = get(server)
    policy = headers["Content-Security-Policy"]
    assert (status, headers["Referrer-Policy"], headers["Cache-Control"]) == (200, "no-referrer", "no-store")
    wanted = ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "connect-src 'self'")
    assert all(each in policy for each in wanted)
    assert "unsafe" not in policy
    assert re.search(r"""(src|href)=["']?[a-z/]""", text.partition("<script>")[0]) is None
    assert len(text.encode()) <= 40 * 1024


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/x", {}, 404),
        ("/../etc/passwd", {}, 404),
        ("/favicon.ico", {}, 404),
        ("/", {"Host": "evil.example"}, 403),
        ("/", {"Host": "127.0.0.1:1"}, 403),
    ],
)
def test_server_refuses_other_paths_and_host_names(
    server: Phones, target: str, headers: dict[str, str], status: int
) -> None:
    """A name that was bound to this machine later (DNS rebinding) is refused."""
    assert get(server, target, **headers)[0] == status


@pytest.mark.parametrize(
    "params",
    [
        {"address": "192.0.2.7"},
        {"address": "0.0.0.0"},  # noqa: S104 - what must be refused
        {"address": ""},
        {"origin": "file:///"},
        {"origin": "https://a/b"},
        {"origin": "https://a@b"},
        {"address": "127.0.0.1", "origin": "https://a"},
    ],
)
def test_pairing_refuses_invalid_addresses(page: Page, params: dict[str, str]) -> None:
    """The refusal comes before anything listens."""
    assert page.ask("phone/pair", params)["error"]["code"] == -32012
    assert page.ask("phone/look", {})["result"]["isOn"] is False


def test_phone_connects_through_a_jupyter_server(server: Phones) -> None:
    """Its page's origin is let in, too; phones that used another address are unpaired."""
    phone = server.phone()
    through = Phones(origin="https://hub.example")
    with pytest.raises(ConnectionClosed):
        phone.ask("ping", {})
    assert get(through, "/", Host="hub.example")[0] == 200
    headers = {"Origin": "https://hub.example"}
    client = Client(through.address, through.token, headers=headers)
    assert client.initialize("me")["snapshots"] == []
    client.close()
    assert refusal(through, through.token, headers={"Origin": "https://evil.example"}) == 403  # type: ignore[arg-type]
