"""A served kernel, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Server
from agentnb.host import current_host
from tests.unit.server.websocket.client import VERSIONS, Client
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
