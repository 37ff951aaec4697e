"""A kernel that phones may answer, and clients in the place of phones."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentnb.host import current_host
from agentnb.plugins.phone.requests import (
    PairParams,
    PairResult,
    PhoneStatusParams,
    PhoneStatusResult,
    UnpairParams,
    look,
    pair,
    unpair,
)
from tests.unit.server.websocket.client import PATIENCE, Client
from tests.unit.server.websocket.conftest import connect, session

__all__ = ["connect", "session"]
T = TypeVar("T")
HERE = PairParams(address="127.0.0.1")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """What it gives, on the host's thread, where requests are answered."""
    return current_host().loop.submit(coroutine).result(PATIENCE)


class Phones:
    """What a page sees of pairing, with the names that the tests of `agentnb.serve` use."""

    def __init__(self, way: PairParams = HERE) -> None:
        self.way = way
        self.first: PairResult = run(pair(way))

    @property
    def address(self) -> str:
        """Where phones connect."""
        return f"ws://127.0.0.1:{self.first.port}/"

    @property
    def token(self) -> str:
        """The first code."""
        return self.first.token

    def add_client(self, _name: str = "", **_rights: object) -> str:
        """One more code; all have the same right."""
        return run(pair(self.way)).token

    def look(self) -> PhoneStatusResult:
        """How it stands."""
        return run(look(PhoneStatusParams()))

    def unpair(self) -> None:
        """The end of it."""
        run(unpair(UnpairParams()))

    def phone(self, name: str = "me") -> Client:
        """One more phone that has introduced itself."""
        client = Client(self.address, self.add_client())
        client.initialize(name)
        return client


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Phones]:
    """This process's kernel, with a code for a phone."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    phones = Phones()
    yield phones
    phones.unpair()
