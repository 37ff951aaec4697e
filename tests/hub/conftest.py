"""One hub for the tests of this folder, with two users' servers and a browser for each user."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import browser, chromium, profile
from tests.hub.hub import PROXY, PYTHON, Hub

__all__ = ["browser", "chromium", "profile"]

POLICY = """
[site]
message = "Agents work here for the physics group."
audit = "{audit}"

[site.agents]
allow = ["eliza"]

[site.settings]
log_days = 365
"""


@pytest.fixture(scope="session")
def hub(home: Path) -> Iterator[Hub]:
    """The hub, with a site policy."""
    if not (PYTHON.exists() and PROXY.exists() and shutil.which("node")):
        pytest.skip("no JupyterHub: `make test-hub` installs it")
    folder = Path(tempfile.mkdtemp(prefix="agentnb-hub-"))  # other users cannot enter pytest's own folder
    (folder / "audit").mkdir()
    (folder / "audit").chmod(0o1733)
    policy = folder / "etc/agentnb/policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text(POLICY.format(audit=folder / "audit"), encoding="utf-8")
    hub = Hub(folder)
    try:
        hub.start()
        yield hub
    finally:
        hub.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def tokens(hub: Hub) -> dict[str, str]:
    """A token per user, with a running server."""
    return {name: hub.spawn(name) for name in hub.homes}
