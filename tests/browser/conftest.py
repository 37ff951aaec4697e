"""One JupyterLab and one Chromium for all browser tests; a page, a profile and kernels of its own for each."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from tests.browser import server as jupyter
from tests.browser.lab import PATIENCE_MS, Lab
from tests.browser.server import Server
from tests.conftest import ROOT

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PICTURES = ROOT / "test-results"
LOUD = ("error", "warning")
OURS = re.compile("agentnb|anywidget", re.IGNORECASE)
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the browser."""
    found = subprocess.run([sys.executable, ROOT / "scripts/chromium.py"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """The one browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(home: Path, kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The one JupyterLab."""
    server = jupyter.start(home, tmp_path_factory.mktemp("notebooks"))
    yield server
    server.stop()


@pytest.fixture
def limited_server(home: Path, kernelspecs: Path, tmp_path: Path) -> Iterator[Server]:
    """A JupyterLab that lets few messages through, and drops the others."""
    server = jupyter.start(home, tmp_path, "--ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=30")
    yield server
    server.stop()


@pytest.fixture
def lab_on(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[[Server], Lab]]:
    """Make pages with a profile of their own; afterwards their kernels and agents are gone."""
    contexts, servers = [], []
    name = re.sub(r"\W+", "-", request.node.name).strip("-")

    def make(server: Server) -> Lab:
        servers.append(server)
        context = browser.new_context(viewport=VIEWPORT)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        return Lab(context.new_page(), server, PICTURES)

    yield make
    for number, context in enumerate(contexts):
        for page in context.pages:
            PICTURES.mkdir(exist_ok=True)
            page.screenshot(path=PICTURES / f"end-{name}-{number}.png")
        context.close()
    for server in servers:
        server.end_sessions()


@pytest.fixture
def open_lab(lab_on: Callable[[Server], Lab], server: Server) -> Callable[[], Lab]:
    """Make pages on the one JupyterLab."""
    return lambda: lab_on(server)


@pytest.fixture
def lab(open_lab: Callable[[], Lab]) -> Iterator[Lab]:
    """A page with JupyterLab; what its console says about us is a failure."""
    lab = open_lab()
    said: list[str] = []
    lab.page.on("console", lambda message: said.append(message.text) if message.type in LOUD else None)
    lab.page.on("pageerror", lambda error: said.append(f"{error}\n{error.stack}"))
    yield lab
    assert [text for text in said if OURS.search(text)] == []
