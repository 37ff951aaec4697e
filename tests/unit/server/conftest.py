"""A host without an agent, and an in-memory page that speaks the protocol to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.host import Host
from tests.unit.server.asking_page import Page, idle_session, kernel

__all__ = ["kernel"]


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


@pytest.fixture
def page(host: Host) -> Page:
    """A page that has introduced itself."""
    page = Page(host)
    page.ready()
    return page


@pytest.fixture
def idle(page: Page, tmp_path: Path) -> Session:
    """A session of the page's host, without a running agent."""
    return idle_session(page.host, tmp_path)
