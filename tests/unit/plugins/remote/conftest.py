"""Agents on other machines, as far as one machine can imitate them: servers on the loopback, and a relay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb.host import Host, current_host
from tests.unit.host.kernels import Kernel
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
def kernel(tmp_path: Path) -> Kernel:
    """This process's host, whose limits can be shortened."""
    return Kernel(current_host(), tmp_path)


@pytest.fixture
def page(host: Host) -> Page:
    return Page(host)
