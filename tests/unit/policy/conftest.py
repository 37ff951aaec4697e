"""The user's policy file and a project's, and a page that lists what they set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb.host import Host
from tests.unit.acp.conftest import shared_session, works, workspace  # noqa: F401 - the fixtures are for these tests, too
from tests.unit.server.asking_page import Page


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's policy file, not made yet; the current folder is a project."""
    (tmp_path / "work/.agentnb").mkdir(parents=True)
    (tmp_path / "config").mkdir()
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "config/policy.toml"


@pytest.fixture
def project_file(user_file: Path) -> Path:
    """The project's policy file, not made yet."""
    return user_file.parents[1] / "work/.agentnb/policy.toml"


@pytest.fixture
def page(user_file: Path) -> Iterator[Page]:
    """A page of a host with these files."""
    host = Host()
    page = Page(host)
    page.ready()
    yield page
    host.close()


@pytest.fixture
def attended(page: Page) -> Host:
    """A host with an attached user."""
    page.host.environment.connect(attached=lambda: True)
    return page.host
