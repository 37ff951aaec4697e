"""A served kernel, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import agentnb
from agentnb import Server
from agentnb.host import current_host
from agentnb.server.comm.frontend import current_frontend
from agentnb.server.websocket.server import ServingLimits, WebSocketListener
from tests.unit.server.websocket.client import PATIENCE, VERSIONS, Client
from tests.unit.server.websocket.relay import Relay


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """This process's kernel, served on a free port; its file is in a temporary folder."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    with agentnb.serve(name="editor") as served:
        yield served


@pytest.fixture
def session(tmp_path: Path) -> Iterator[agentnb.Session]:
    with_eliza = agentnb.start("eliza", cwd=tmp_path)
    yield with_eliza
    with_eliza.close()


Connect = Callable[..., Client]


@pytest.fixture
def connect(server: Server) -> Iterator[Connect]:
    """Connects a client: ``connect(token)``, or ``connect(token, "me", "ahp-root://")``; 0.5 by default."""
    opened: list[Client] = []

    def begin(
        token: str | None = None,
        client_id: str = "me",
        *uris: str,
        versions: tuple[str, ...] = VERSIONS,
        **options: Any,
    ) -> Client:
        client = Client(server.address, server.token if token is None else token, **options)
        opened.append(client)
        client.initialize(client_id, *uris, versions=versions)
        return client

    yield begin
    for client in opened:
        client.close()


@pytest.fixture
def relay() -> Iterator[Relay]:
    """The network between the kernels."""
    between = Relay(current_host().loop)
    yield between
    between.close()


@pytest.fixture
def brief_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn of a client that changes files ends after each change."""
    monkeypatch.setattr(current_host().client_files, "idle_seconds", 0)


@pytest.fixture
def nothing_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """No output was shown just now, so that a permission request does not wait for its page."""
    monkeypatch.setattr(current_frontend(), "_shown_at", None)


class Impatient:
    """This kernel, served to one client, who must answer a ping within 1.5 seconds."""

    def __init__(self) -> None:
        self._loop, self.left = current_host().loop, Event()
        limits = ServingLimits(ping_seconds=1.5)
        self._listener = WebSocketListener(
            current_host(), current_frontend().service, limits=limits, changed=self._changed
        )
        self.port = self._loop.submit(self._listener.open("127.0.0.1", 0, None)).result(PATIENCE)
        self.token = self._loop.call(lambda: self._listener.grants.add("gone", ["watch"]))

    def _changed(self, _grant: object, came: bool) -> None:
        if not came:
            self.left.set()

    def connected(self) -> int:
        return len(self._loop.call(lambda: self._listener.clients))

    def close(self) -> None:
        self._loop.submit(self._listener.close()).result(PATIENCE)


@pytest.fixture
def impatient() -> Iterator[Impatient]:
    opened = Impatient()
    yield opened
    opened.close()
