"""Agents on other machines, as far as one machine can imitate them: servers on the loopback, and a relay."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentnb.host import Host
from tests.unit.plugins.remote.serving import serving
from tests.unit.server.asking_page import Page
from tests.unit.server.websocket.conftest import relay
from tests.unit.server.websocket.test_transport import certificate

__all__ = ["certificate", "relay"]


@pytest.fixture(scope="module")
def notes() -> Iterator[int]:
    """Yields the port of the agent on the official SDK."""
    with serving("sdk_server") as port:
        yield port


@pytest.fixture
def page(host: Host) -> Page:
    return Page(host)
