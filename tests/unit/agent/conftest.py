"""A page, for what users change there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentnb.host import Host
from tests.unit.server.asking_page import Page


@pytest.fixture
def page() -> Iterator[Page]:
    host = Host()
    page = Page(host)
    page.ready()
    yield page
    host.close()
