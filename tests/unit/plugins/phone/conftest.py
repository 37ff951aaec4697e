"""A kernel that phones may answer, and test clients as phones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb.host import current_host
from agentnb.plugins.phone.addresses import Way
from agentnb.plugins.phone.pairing import pair
from tests.unit.server.asking_page import Page
from tests.unit.server.websocket.client import PATIENCE, Client
from tests.unit.server.websocket.conftest import connect, session

__all__ = ["connect", "session"]


class Phones:
    """The page's side of pairing, with the names that the tests of `agentnb.serve` use; *way* is by an address here."""

    def __init__(self, **way: str) -> None:
        self.way = way or {"address": "127.0.0.1"}
        self.page = Page(current_host())
        self.first: dict[str, Any] = self.page.ask("phone/pair", self.way)["result"]

    @property
    def address(self) -> str:
        return f"ws://127.0.0.1:{self.first['port']}/"

    @property
    def token(self) -> str:
        """Returns the first code."""
        return str(self.first["token"])

    def add_client(self, _name: str = "", **_rights: object) -> str:
        """Returns one more code with the same rights."""
        return str(self.page.ask("phone/pair", self.way)["result"]["token"])

    def look(self) -> dict[str, Any]:
        state: dict[str, Any] = self.page.ask("phone/look", {})["result"]
        return state

    def unpair(self) -> None:
        assert self.page.ask("phone/unpair", {})["result"] == {}

    def phone(self, name: str = "me") -> Client:
        """Returns one more initialized phone."""
        client = Client(self.address, self.add_client())
        client.initialize(name)
        return client


@pytest.fixture
def page() -> Page:
    """Returns a page of this process's kernel."""
    return Page(current_host())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Phones]:
    """Returns this process's kernel, with a code for a phone."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    phones = Phones()
    yield phones
    phones.unpair()


@pytest.fixture
def brief() -> None:
    """Codes that no phone uses expire at once, in place of five minutes."""
    current_host().loop.submit(pair(Way("127.0.0.1", ""), code_seconds=0.0)).result(PATIENCE)
