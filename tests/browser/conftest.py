"""One JupyterLab and one Chromium for the browser tests of a process; kernels of its own for each.

Loading JupyterLab takes longer than most tests. A page whose test has passed is emptied (``Lab.clear``) and serves the
next one; one that failed, or was changed for good, is thrown away with its profile.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, ViewportSize, expect, sync_playwright

from tests.browser import server as jupyter
from tests.browser.lab import PATIENCE_MS, Lab
from tests.browser.server import Server
from tests.conftest import ROOT

expect.set_options(timeout=PATIENCE_MS)  # Playwright's own 5 s are few on a busy machine

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
CLOSED_EARLY = "[anywidget] Failed to initialize model."
"""What anywidget says two seconds after it met a model that was closed before it was ready: a turn that was over at
once. A view that is wanted and does not come fails its test by itself."""
MOST_USES = 20
"""After so many tests a page is old enough."""
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


@pytest.fixture(scope="session")
def bare(kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site folder of a kernel ``bare`` that has what agentnb needs, and not agentnb."""
    site = tmp_path_factory.mktemp("bare")
    for entry in Path(pytest.__file__).parent.parent.iterdir():
        if "agentnb" not in entry.name and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    folder = kernelspecs / "kernels/bare"
    folder.mkdir()
    base = Path(sys.base_prefix, "bin", "python{}.{}".format(*sys.version_info))
    python = str(base if base.exists() else sys.executable)
    argv = [python, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    # Nothing is to be fetched into the interpreter that it stands on, whatever is typed there.
    env = {"PYTHONPATH": str(site), "PIP_NO_INDEX": "1", "PIP_REQUIRE_VIRTUALENV": "1"}
    spec = {"argv": argv, "display_name": "bare", "language": "python", "env": env}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    return site


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
            page.screenshot(path=PICTURES / f"end-{plain(request)}-{number}.png")
        context.close()
    for server in servers:
        server.end_sessions()


@pytest.fixture
def open_lab(lab_on: Callable[[Server], Lab], server: Server) -> Callable[[], Lab]:
    """Make pages on the one JupyterLab."""
    return lambda: lab_on(server)


class Kept:
    """The page that the tests share, one after the other.

    Args:
        browser: Whose page.
        server: What it talks to.
    """

    def __init__(self, browser: Browser, server: Server) -> None:
        self._browser, self._server = browser, server
        self._lab: Lab | None = None
        self._uses = 0

    def take(self) -> Lab:
        """The page, empty."""
        if self._lab is None:
            context = self._browser.new_context(viewport=VIEWPORT)
            context.set_default_timeout(PATIENCE_MS)
            self._lab, self._uses = Lab(context.new_page(), self._server, PICTURES), 0
        self._uses += 1
        return self._lab

    def give_back(self, *, passed: bool) -> None:
        """Empty it for the next test, or throw it away."""
        assert self._lab is not None
        reusable = passed and self._uses < MOST_USES and self._lab.clear()
        if not reusable:
            self.close()
        self._server.end_sessions()
        if self._lab is not None:
            self._lab.page.set_viewport_size(VIEWPORT)

    def close(self) -> None:
        """Close it."""
        if self._lab is not None:
            self._lab.page.context.close()
            self._lab = None


@pytest.fixture(scope="session")
def kept(browser: Browser, server: Server) -> Iterator[Kept]:
    """The one page."""
    kept = Kept(browser, server)
    yield kept
    kept.close()


@pytest.fixture
def lab(kept: Kept, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A page with JupyterLab; what its console says about us is a failure."""
    lab = kept.take()
    said: list[str] = []
    failed = request.session.testsfailed

    def heard(message: ConsoleMessage) -> None:
        if message.type in LOUD:
            said.append(message.text)

    def thrown(error: Error) -> None:
        said.append(f"{error}\n{error.stack}")

    lab.page.on("console", heard)
    lab.page.on("pageerror", thrown)
    yield lab
    lab.page.remove_listener("console", heard)
    lab.page.remove_listener("pageerror", thrown)
    passed = request.session.testsfailed == failed
    if not passed:
        picture(lab, f"end-{plain(request)}")
    faults = [text for text in said if OURS.search(text) and CLOSED_EARLY not in text]
    kept.give_back(passed=passed and not faults)
    assert faults == []


def plain(request: pytest.FixtureRequest) -> str:
    """The test's name as part of a file's name."""
    return re.sub(r"\W+", "-", request.node.name).strip("-")


def picture(lab: Lab, name: str) -> None:
    """Leave a screenshot of how a test failed."""
    if not lab.page.is_closed():
        lab.picture(name)
