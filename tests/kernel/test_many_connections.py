"""Thousands of connections to a served kernel: it refuses most, stays up, and frees memory and files."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil
import pytest
from websockets.exceptions import WebSocketException
from websockets.frames import Opcode

from agentnb.server.websocket.server import ServingLimits
from tests.kernel.running_kernel import RunningKernel
from tests.unit.server.websocket.client import Client
from tests.unit.server.websocket.test_bad_input import frame, raw

CONNECTIONS = int(os.environ.get("AGENTNB_AHP_CONNECTIONS", "600"))
MEGABYTES = 64
"""The limit for the kernel's growth, the same for 600 and for 10,000 connections."""
SERVE = """
import agentnb
server = agentnb.serve()
session = agentnb.start("eliza")
deaf = server.add_client("deaf", rights=["drive"])
many = server.add_client("many")
print(server.address, server.token, deaf, many)
"""
REQUEST = (
    "GET / HTTP/1.1\r\nHost: {place}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {token}\r\n"
)


class Crowd(NamedTuple):
    """Opens connections of four kinds in turn: silent, half a request, wrong token, valid but then silent."""

    place: str
    token: str

    def connect(self, number: int) -> socket.socket:
        host, _, port = self.place.rpartition(":")
        connection = socket.create_connection((host, int(port)), timeout=60)
        token = self.token if number % 4 == 3 else "w" * 43
        request = REQUEST.format(place=self.place, token=token)
        words = ("", request, f"{request}\r\n", f"{request}\r\n")[number % 4]
        with contextlib.suppress(OSError):  # the kernel may have closed it
            connection.sendall(words.encode())
        return connection


def still_open(connections: list[socket.socket]) -> list[socket.socket]:
    """Returns the connections that the kernel still holds; closes the others."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    readable = {number for number, _ in poll.poll(0)}
    kept = []
    for connection in connections:
        if connection.fileno() in readable and _has_ended(connection):
            connection.close()
        else:
            kept.append(connection)
    return kept


def _has_ended(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while data := connection.recv(65_536):
            if data.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")):
                return True
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def until(ready: Callable[[], bool], between: Callable[[], object]) -> None:
    """Calls *between* until *ready*."""
    while not ready():
        between()


def connected(address: str, token: str) -> Client:
    """Returns a client, once there is room."""
    while True:
        try:
            return Client(address, token)
        except (OSError, EOFError, WebSocketException):
            continue


@pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)  # the same on any kernel
def test_many_connections_use_bounded_memory_and_files(kernel: RunningKernel) -> None:
    """Earlier clients get answers throughout; new ones are admitted once the crowd has gone."""
    address, token, deaf_token, many = kernel.run(SERVE).stdout.split()
    place, process = urlsplit(address).netloc, psutil.Process(kernel.pid)
    good = Client(address, token)
    good.initialize("good", "ahp-root://")
    deaf = Client(address, deaf_token, max_queue=1, ping_interval=None)
    deaf.initialize("deaf", "ahp-root://")
    # Modules loaded at the first turn, and the first connections, count as the state before.
    kernel.run("await session.prompt('/flood 2000')")
    before, files = process.memory_info().rss, process.num_fds()
    limits, crowd = ServingLimits(), Crowd(place, many)
    most = 0
    ask = json.dumps({"jsonrpc": "2.0", "id": 9, "method": "subscribe", "params": {"channel": "ahp-root://"}}).encode()
    held: list[socket.socket] = []
    for number in range(CONNECTIONS):
        held.append(crowd.connect(number))
        if number % 100 == 99:
            held = still_open(held)
            assert good.ask("ping", {}) == {}
            with contextlib.suppress(OSError):  # the kernel may have closed it
                raw(deaf, frame(Opcode.TEXT, ask))
            most = max(most, process.num_fds())
    assert kernel.run("turn = await session.prompt('/flood 2000'); str(turn.state)").values == ["'complete'"]
    grown = process.memory_info().rss - before
    summary = f"{most - files} files at most, {grown / 2**20:.1f} MB more, {len(held)} held"
    assert most - files <= limits.handshakes + limits.clients + 100, summary  # a hundred wait to be refused
    assert grown < MEGABYTES * 2**20, summary

    for each in held:
        each.close()
    until(lambda: process.num_fds() <= files + 5, lambda: good.ask("ping", {}))
    late = connected(address, kernel.run("server.add_client('late')").values[0].strip("'"))
    assert late.initialize("late")["protocolVersion"] == "1.0.0"
    for client in (good, deaf, late):
        client.close()
    assert kernel.run("server.close(); server.closed").values == ["True"]
