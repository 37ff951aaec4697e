"""A page that sends the plug-in's requests to its kernel."""

from __future__ import annotations

import pytest

from agentnb.host import Host
from tests.unit.server.asking_page import Page


@pytest.fixture
def page(host: Host) -> Page:
    return Page(host)
