"""A kernel that phones may answer, and test clients as phones."""

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
    """Returns the coroutine's result on the host's thread, where requests are answered."""
    return current_host().loop.submit(coroutine).result(PATIENCE)


class Phones:
    """The page's side of pairing, with the names that the tests of `agentnb.serve` use."""

    def __init__(self, way: PairParams = HERE) -> None:
        self.way = way
        self.first: PairResult = run(pair(way))

    @property
    def address(self) -> str:
        return f"ws://127.0.0.1:{self.first.port}/"

    @property
    def token(self) -> str:
        """Returns the first code."""
        return self.first.token

    def add_client(self, _name: str = "", **_rights: object) -> str:
        """Returns one more code with the same rights."""
        return run(pair(self.way)).token

    def look(self) -> PhoneStatusResult:
        return run(look(PhoneStatusParams()))

    def unpair(self) -> None:
        run(unpair(UnpairParams()))

    def phone(self, name: str = "me") -> Client:
        """Returns one more initialized phone."""
        client = Client(self.address, self.add_client())
        client.initialize(name)
        return client


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Phones]:
    """Returns this process's kernel, with a code for a phone."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    phones = Phones()
    yield phones
    phones.unpair()
