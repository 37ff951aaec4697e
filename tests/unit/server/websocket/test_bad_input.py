"""Invalid or excessive input of clients: each ends at most its own connection."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.frames import Frame, Opcode

from agentnb import Server, Session
from tests.unit.server.websocket.client import PATIENCE, VERSIONS, Client, chat_of, session_of
from tests.unit.server.websocket.conftest import Connect, Impatient

SOAK = int(os.environ.get("AGENTNB_AHP_MESSAGES", "400"))
"""The number of messages from the fuzzer, a client of the newest version; 100,000 in ``make soak``."""


def raw(client: Client, data: bytes) -> None:
    """Sends bytes directly, without the library."""
    client.socket.socket.sendall(data)


def frame(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    """Returns a frame as a client masks it."""
    return Frame(opcode, data, fin=fin).serialize(mask=True)


BAD_FRAMES: dict[str, tuple[Callable[[], bytes], int]] = {
    "binary": (lambda: frame(Opcode.BINARY, b"{}"), 1003),
    "invalid UTF-8": (lambda: frame(Opcode.TEXT, b"\xff\xfe"), 1007),
    "half a character": (lambda: frame(Opcode.TEXT, b"\xed\xa0\x80"), 1007),
    "compressed": (lambda: bytes([0xC1]) + frame(Opcode.TEXT, b"\x00" * 100)[1:], 1002),
    "a gigabyte announced": (lambda: b"\x81\xff" + (1 << 30).to_bytes(8, "big") + b"\0\0\0\0" + b"x" * 100, 1009),
    "fragments without end": (
        lambda: (
            frame(Opcode.TEXT, b"x" * 1000, fin=False)
            + b"".join(frame(Opcode.CONT, b"x" * 600_000, fin=False) for _ in range(8))
        ),
        1009,
    ),
    "not masked": (lambda: Frame(Opcode.TEXT, b"{}").serialize(mask=False), 1002),
}


@pytest.mark.parametrize("what", BAD_FRAMES)
def test_bad_frame_ends_only_its_own_connection(server: Server, connect: Connect, what: str) -> None:
    """With the WebSocket close code; the kernel and the other clients continue."""
    good, bad = connect(None, "good"), connect(server.add_client("bad"), "bad")
    make, code = BAD_FRAMES[what]
    with contextlib.suppress(OSError):  # the connection can end before a long frame is written
        raw(bad, make())
    assert (bad.end()[0], good.ask("ping", {})) == (code, {})


def test_fragments_are_read_as_one_message(connect: Connect) -> None:
    """The WebSocket protocol requires it."""
    client = connect()
    request = json.dumps({"jsonrpc": "2.0", "id": "f", "method": "ping", "params": {"channel": "ahp-root://"}}).encode()
    raw(client, frame(Opcode.TEXT, request[:10], fin=False) + frame(Opcode.CONT, request[10:]))
    assert client.hear(lambda message: message.get("id") == "f")["result"] == {}


def test_server_declines_compression(connect: Connect) -> None:
    """So no message can grow by decompression."""
    client = connect(None, "me", compression="deflate")
    assert client.socket.response is not None
    assert "Sec-WebSocket-Extensions" not in client.socket.response.headers


MALFORMED = [
    ("", -32700),
    ("{", -32700),
    ("[]", -32600),
    ("17", -32600),
    ('[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":7}}', -32602),
    ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://"}}', -32602),
    ("[" * 100_000, -32700),
    ('{"jsonrpc":"2.0","id":1,"method":"ping","params":' + '{"a":' * 1_000 + "1" + "}" * 1_001, -32700),
]


def test_malformed_message_gets_a_json_rpc_error(connect: Connect) -> None:
    """With JSON-RPC's error; the connection continues."""
    client = connect()
    for text, code in MALFORMED:
        client.socket.send(text)
        assert client.hear(lambda message: "error" in message)["error"]["code"] == code, text[:80]
        assert client.ask("ping", {}) == {}


def test_only_ping_works_before_initialize(server: Server, session: Session) -> None:
    client = Client(server.address, server.token)
    assert client.ask("ping", {}) == {}
    codes = []
    for _ in range(2):
        client.say({"jsonrpc": "2.0", "id": 99, "method": "listSessions", "params": {"channel": "ahp-root://"}})
        answer = client.hear(lambda message: message.get("id") == 99)
        codes.append(answer.get("error", {}).get("code"))
        if not client.snapshots:
            client.initialize("me", "ahp-root://")
    client.close()
    assert codes == [-32600, None]


def test_a_client_that_sends_too_much_is_disconnected(server: Server, connect: Connect) -> None:
    """The other clients stay connected."""
    good, flooding = connect(None, "good"), connect(server.add_client("b"), "b")
    ping = '{"jsonrpc":"2.0","method":"ping","params":{"channel":"ahp-root://"}}'
    with contextlib.suppress(ConnectionClosed):
        for _ in range(100_000):
            flooding.socket.send(ping)
    assert (flooding.end()[0], good.ask("ping", {})) == (1008, {})


def test_silent_connections_do_not_block_other_clients(server: Server) -> None:
    """The kernel limits half-open connections and closes those beyond at once; clients can still connect."""
    parts = urlsplit(server.address)
    silent = [socket.create_connection((parts.hostname or "", parts.port or 0)) for _ in range(200)]
    refused, _, _ = select.select(silent, [], [], 30)
    for each in silent:
        each.close()
    client = _connected(server)
    assert (len(refused) > 0, client.ask("ping", {})) == (True, {})
    client.close()


def test_connection_to_a_vanished_client_ends(impatient: Impatient) -> None:
    """Its machine sleeps or its network is cut: nothing reports it, and it answers no ping."""
    port, token = impatient.port, impatient.token
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as gone:
        request = ["GET / HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade"]
        request += [f"Sec-WebSocket-Key: {'A' * 22}==", "Sec-WebSocket-Version: 13", f"Authorization: Bearer {token}"]
        gone.sendall("\r\n".join([*request, "", ""]).encode())
        params = {"channel": "ahp-root://", "clientId": "gone", "protocolVersions": ["1.0.0"]}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        gone.sendall(frame(Opcode.TEXT, json.dumps(message).encode()))
        heard = b""
        while data := gone.recv(65_536):  # until the kernel closes it
            heard += data
    assert (heard.startswith(b"HTTP/1.1 101"), b"protocolVersion" in heard) == (True, True)
    assert (impatient.left.wait(PATIENCE), impatient.connected()) == (True, 0)


def _connected(server: Server) -> Client:
    """Connects a client once the closed connections are gone."""
    while True:
        try:
            return Client(server.address, server.token)
        except (OSError, EOFError, WebSocketException):
            continue


def test_client_that_never_reads_does_not_block_others(server: Server, session: Session, connect: Connect) -> None:
    """A long turn ends, and the other clients have all of it."""
    connect(server.add_client("deaf"), "deaf", chat_of(session), max_queue=1)
    good = connect(None, "good", chat_of(session))
    turn = session.prompt("/flood 5000").wait()
    good.hear_action("chat/turnComplete")
    texts = [
        message["params"]["action"].get("content") or message["params"]["action"].get("part", {}).get("content", "")
        for message in good.heard
        if message["params"].get("channel") == chat_of(session)
    ]
    assert "".join(texts) == turn.text


METHODS = (
    "initialize", "reconnect", "ping", "subscribe", "unsubscribe", "dispatchAction", "listSessions",
    "createSession", "fetchTurns", "resolveSessionConfig", "resourceRead", "resourceList", "resourceResolve",
    "resourceRequest", "resourceWrite", "resourceMkdir", "resourceDelete", "resourceMove", "resourceCopy",
    "invokeChangesetOperation", "createTerminal", "x-agentnb/readFile", "x-agentnb/complete",
    "x-agentnb/restartAgent", "x-agentnb/listSettings", "x-agentnb/☃", "☃",
)  # fmt: skip
ACTIONS = (
    "chat/turnStarted", "chat/turnCancelled", "chat/toolCallConfirmed", "chat/pendingMessageSet",
    "chat/pendingMessageRemoved", "chat/queuedMessagesReordered", "chat/inputAnswerChanged",
    "chat/inputCompleted", "session/titleChanged", "session/configChanged", "session/isReadChanged",
    "root/configChanged", "x-agentnb/modeChanged", "x-agentnb/configOptionChosen", "chat/delta",
    "chat/turnResume", "chat/turnsLoaded", "chat/isReadChanged", "nothing",
)  # fmt: skip


def message(dice: random.Random, session: Session) -> Any:
    """Returns a random, nearly valid message."""

    def value(depth: int = 0) -> Any:
        simple = [None, True, -1, 1e300, 2**63, "", "x" * 50, "\u2028", "ahp-root://", session_of(session)]
        if depth > 2 or dice.random() < 0.6:
            return dice.choice(simple)
        if dice.random() < 0.5:
            return [value(depth + 1) for _ in range(dice.randrange(3))]
        names = ["channel", "clientId", "uri", "action", "type", "turnId", "message", "text", "origin", "config", "id"]
        return {dice.choice(names): value(depth + 1) for _ in range(dice.randrange(4))}

    channel = dice.choice([chat_of(session), session_of(session), "ahp-root://", "ahp-session:/../../etc", "", 7])
    action = {"type": dice.choice(ACTIONS), "turnId": value(), "message": value(), "title": value(), "config": value()}
    action |= {dice.choice(["startedAt", "duration", "part", "turns", "enablement"]): value()}
    params = {"channel": channel, "clientSeq": dice.choice([1, 2, -5, 2**70, "1", 1.5]), "action": action}
    names = (
        "uri", "limit", "before", "provider", "operationId", "subscriptions", "cursor", "view",
        "workingDirectories", "data", "encoding", "source", "destination", "recursive", "mode", "position",
        "ifMatch",
    )  # fmt: skip
    uris = ["file:///etc/passwd", "file:///%00", "file://x/y", f"file:///{'x' * 5_000}", "agentnb-content:x"]
    uri = dice.choice(uris)
    params |= {"uri": uri, "source": uri, "destination": uri, "data": "x", "encoding": dice.choice(["utf-8", "base64"])}
    for _ in range(2):
        params |= {dice.choice(names): value()}
    made: Any = {"jsonrpc": dice.choice(["2.0"] * 9 + [2]), "method": dice.choice(METHODS), "params": params}
    if dice.random() < 0.7:
        made["id"] = dice.choice([1, "a", None, 1.5, {}])
    return made if dice.random() < 0.95 else value()


def test_random_messages_do_not_break_the_server(
    server: Server, session: Session, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """No request hangs, no exception is unhandled, and a good client can still read the state."""
    dice = random.Random(17)
    name, newest = "b", VERSIONS[:1]
    good = connect(None, "good", session_of(session))
    chatty = connect(server.add_client(name, rights=["drive"]), "b", versions=newest)
    opened = len(good.ask("listSessions", {})["items"])
    for number in range(SOAK):
        text = json.dumps(message(dice, session))
        if dice.random() < 0.02:
            text = text[: dice.randrange(len(text) + 1)]
        chatty.socket.send(text)
        if number % 50 == 49:
            chatty.ask("ping", {})
            chatty.heard.clear()
        if number % 300 == 299:
            chatty.close()  # its message quota is used up
            server.revoke(name)
            name = str(number)
            chatty = connect(server.add_client(name, rights=["drive"]), "b", versions=newest)
    assert chatty.ask("ping", {}) == {}
    assert good.snapshot(session_of(session))["provider"] == "eliza"
    assert [record.getMessage() for record in caplog.records if record.name.startswith("agentnb.ahp")] == []
    for each in good.ask("listSessions", {})["items"][opened:]:
        good.ask("disposeSession", {"channel": each["resource"]})
