"""The hosts, sessions and kernel tools of the core, and a page of this process's host, for the tests of plug-ins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb.host import Host
from agentnb.host.environment import current_environment
from tests.unit.api.conftest import start
from tests.unit.host.conftest import host
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools
from tests.unit.server.asking_page import Page

__all__ = ["host", "start", "tools"]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """Yields a page of this process's host, which is new, and has a log, a user, and separate settings and data."""
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    environment = current_environment()
    before = environment.attached
    environment.connect(attached=lambda: True)
    host = Host(log=tmp_path / "data/sessions.db", environment=environment)
    monkeypatch.setattr("agentnb.host.host._current", host)
    monkeypatch.setattr("agentnb.host.host._pid", os.getpid())
    page = Page(host)
    page.ready()
    yield page
    host.close()
    environment.connect(attached=before)


@pytest.fixture
def kernel_page(page: Page, tools: Tools) -> Iterator[Page]:
    """Yields the same page; the host has a kernel."""
    before = page.host.environment.shell
    page.host.environment.connect(shell=tools)
    yield page
    page.host.environment.connect(shell=before)
