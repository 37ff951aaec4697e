"""One JupyterLab and one Chromium for the browser tests of a process; kernels are per test.

Tests of Notebook 7 (``@pytest.mark.notebook7``) share another page, so that JupyterLab's stays.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, ViewportSize, expect, sync_playwright

from tests.browser import server as jupyter
from tests.browser.lab import PATIENCE_MS, Lab
from tests.browser.server import Server
from tests.browser.side import Side
from tests.conftest import ROOT

expect.set_options(timeout=PATIENCE_MS)  # Playwright's default of 5 s is too short on a busy machine

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
KERNEL = "ipykernel7"
"""The kernel of new notebooks."""
PICTURES = ROOT / "test-results"
ANSWER_MS = 20_000
"""The time limit for a page's answer after its test has failed, in milliseconds."""
LOUD = ("error", "warning")
OURS = re.compile("agentnb|anywidget", re.IGNORECASE)
CLOSED_EARLY = "[anywidget] Failed to initialize model."
"""anywidget's message about a model that was not ready after two seconds. A very short turn's model is closed by then;
others are late on a busy machine (`js/src/late-module.ts`). A missing view fails its test by itself."""
WIDGETS = """async () => {
  const { sessionContext, content } = window.jupyterapp?.shell.currentWidget ?? {};
  const kernel = sessionContext?.session?.kernel;
  const outputs = (content?.widgets ?? []).flatMap(({ model: { outputs } }) => outputs?.toJSON() ?? []);
  const ids = outputs.flatMap(({ data }) => data?.["application/vnd.jupyter.widget-view+json"]?.model_id ?? []);
  const models = ids.map((id) => [id, kernel?.hasComm(id)]);
  const answer = (info) => Promise.race([
    info?.then(() => "answers", String),
    new Promise((end) => setTimeout(end, 5000, "does not answer")),
  ]);
  const answers = [await answer(kernel?.requestKernelInfo()), await answer(kernel?.clone().info)];
  return JSON.stringify(
    [kernel?.id, kernel?.connectionStatus, kernel?.status, answers, kernel?.handleComms, models]);
}"""
"""Returns the kernel, its connection, its status, whether it answers there and on a new connection, its comm support,
and which models of outputs have a comm."""
THREADS = f"__import__('faulthandler').register({signal.SIGUSR1:d})"
"""Makes a kernel write what its threads do to its server's log when it gets this signal."""
SLOW = re.compile(r"Plugin .* to activate\.")
"""JupyterLab includes a plugin's waiting time: on a busy machine, the start of the whole page."""
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def chromium() -> str:
    search = subprocess.run([sys.executable, ROOT / "scripts/chromium.py"], capture_output=True, text=True, check=False)
    assert search.returncode == 0, search.stderr
    return search.stdout.strip()


@pytest.fixture(scope="session")
def profile(chromium: str) -> Iterator[BrowserContext]:
    """The one browser, with a profile on disk: only there Chromium keeps compiled scripts from page to page.

    With reduced motion: animations cost a tenth of the processor, and tests of motion turn it on.
    """
    folder = ""  # Playwright makes and removes a temporary folder
    with sync_playwright() as playwright:
        profile = playwright.chromium.launch_persistent_context(
            folder, executable_path=chromium, args=FLAGS, viewport=VIEWPORT, reduced_motion="reduce"
        )
        profile.set_default_timeout(PATIENCE_MS)
        yield profile
        profile.close()


@pytest.fixture(scope="session")
def browser(profile: BrowserContext) -> Browser:
    """The one browser, for pages without JupyterLab."""
    assert profile.browser is not None
    return profile.browser


@pytest.fixture(scope="session")
def server(home: Path, kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("notebooks")
    config = home / "ipython/profile_default/ipython_kernel_config.py"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"c.InteractiveShellApp.exec_lines = [{THREADS!r}]")
    server = jupyter.start(home, folder, f"--MultiKernelManager.default_kernel_name={KERNEL}")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def bare(kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site folder of a kernel ``bare`` with agentnb's dependencies, without agentnb."""
    site = tmp_path_factory.mktemp("bare")
    for entry in Path(pytest.__file__).parent.parent.iterdir():
        if "agentnb" not in entry.name and entry.suffix != ".pth":
            (site / entry.name).symlink_to(entry)
    folder = kernelspecs / "kernels/bare"
    folder.mkdir()
    base = Path(sys.base_prefix, "bin", "python{}.{}".format(*sys.version_info))
    python = str(base if base.exists() else sys.executable)
    argv = [python, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    # Prevents pip from installing packages into the base interpreter, whatever a test types.
    env = {"PYTHONPATH": str(site), "PIP_NO_INDEX": "1", "PIP_REQUIRE_VIRTUALENV": "1"}
    spec = {"argv": argv, "display_name": "bare", "language": "python", "env": env}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    return site


@pytest.fixture
def limited_server(home: Path, kernelspecs: Path, tmp_path: Path) -> Iterator[Server]:
    """A JupyterLab with a low message limit; it drops the others."""
    server = jupyter.start(home, tmp_path, "--ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=30")
    yield server
    server.stop()


def new_lab(profile: BrowserContext, server: Server) -> Lab:
    """Opens a new page for JupyterLab without data of other pages, except the browser's cache."""
    lab = Lab(profile.new_page(), server, PICTURES)
    lab.forget_other_pages()
    return lab


@pytest.fixture
def lab_on(profile: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Callable[[Server], Lab]]:
    """Makes pages for one test; afterwards ends their kernels and agents."""
    labs: list[Lab] = []
    failed = request.session.testsfailed

    def make(server: Server) -> Lab:
        labs.append(new_lab(profile, server))
        return labs[-1]

    yield make
    for number, lab in enumerate(labs):
        if request.session.testsfailed > failed:
            picture(lab, f"end-{plain(request)}-{number}")
        lab.page.close()
    for lab in labs:
        lab.server.end_sessions()


@pytest.fixture
def open_lab(lab_on: Callable[[Server], Lab], server: Server) -> Callable[[], Lab]:
    return lambda: lab_on(server)


class Kept:
    """The shared pages: one of each kind."""

    def __init__(self, profile: BrowserContext, server: Server) -> None:
        self._profile, self._server = profile, server
        self._free: dict[str, Lab] = {}

    def take(self, kind: str = "jupyterlab") -> Lab:
        lab = self._free.pop(kind, None)
        if lab is None:
            lab = new_lab(self._profile, self._server)
        else:
            lab.forget_other_pages()
        lab.page.bring_to_front()  # Chromium gives background tabs less processor time
        return lab

    def give_back(self, lab: Lab, *, passed: bool, kind: str = "jupyterlab") -> None:
        """Empty a page for the next test of its kind, or close it."""
        if passed and kind not in self._free and self._emptied(lab, kind):
            self._free[kind] = lab
        else:
            lab.page.close()
        self._server.end_sessions()

    def _emptied(self, lab: Lab, kind: str) -> bool:
        """Empty a page; returns True if it is like new."""
        lab.page.set_viewport_size(VIEWPORT)
        if kind == "notebook7":
            return lab.leave()
        return (not lab.is_wide() or Side(lab.page).draw_back()) and lab.clear()


@pytest.fixture(scope="session")
def kept(profile: BrowserContext, server: Server) -> Kept:
    return Kept(profile, server)


@pytest.fixture
def lab(kept: Kept, request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A page for JupyterLab or Notebook 7; a console message about us fails the test."""
    kind = "notebook7" if request.node.get_closest_marker("notebook7") else "jupyterlab"
    lab, failed = kept.take(kind), request.session.testsfailed
    with watched(lab, request) as faults:
        yield lab
    kept.give_back(lab, passed=request.session.testsfailed == failed and not faults, kind=kind)
    assert faults == []


@pytest.fixture
def side(lab: Lab, kernelspecs: Path) -> Side:
    return Side(lab.page)


@contextlib.contextmanager
def watched(lab: Lab, request: pytest.FixtureRequest, page: str = "") -> Iterator[list[str]]:
    """Collects console messages about us during a test; takes a picture if it fails."""
    faults: list[str] = []
    console: list[str] = []
    failed = request.session.testsfailed

    def on_console(message: ConsoleMessage) -> None:
        console.append(f"{message.type}: {message.text}")
        if message.type in LOUD:
            on_fault(message.text)

    def on_fault(text: str) -> None:
        if OURS.search(text) and CLOSED_EARLY not in text and not SLOW.match(text):
            faults.append(text)

    def on_error(error: Error) -> None:
        on_fault(f"{error}\n{error.stack}")

    lab.page.on("console", on_console)
    lab.page.on("pageerror", on_error)
    yield faults
    lab.page.remove_listener("console", on_console)
    lab.page.remove_listener("pageerror", on_error)
    if request.session.testsfailed > failed:
        name = f"end-{plain(request)}{page}"
        picture(lab, name)
        (PICTURES / f"{name}.txt").write_text("\n".join(console), encoding="utf-8")
        text = f"{lab.page.url} shows:\n{page_text(lab)}\nIts console's last lines:\n" + "\n".join(console[-25:])
        request.node.add_report_section("teardown", "page", text)


def page_text(lab: Lab) -> str:
    """Returns the beginning of the page's text, or the browser's activity if the page does not answer."""
    if lab.page.is_closed():
        return "(closed)"
    try:
        lab.page.wait_for_function("true", timeout=ANSWER_MS)
    except Error:
        return "\n".join(["(nothing: it does not answer)", *renderers()])
    texts = [panel.inner_text()[:2000] for panel in lab.page.locator(".jp-NotebookPanel").all()]
    return "\n".join([*texts, str(lab.page.evaluate(WIDGETS)), kernel_threads(lab.server)])


def kernel_threads(server: Server) -> str:
    """Returns what the threads of the server's kernels do."""
    first, until = len(server.log), time.monotonic() + ANSWER_MS / 1000
    for process in psutil.Process(server.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "ipykernel_launcher" in process.cmdline():
                process.send_signal(signal.SIGUSR1)
    while not any(b"ipykernel_launcher" in line for line in server.log[first:]) and time.monotonic() < until:
        server.reader.join(0.1)
    return b"".join(server.log[first:]).decode(errors="replace")


def renderers() -> Iterator[str]:
    """Yields the load of each page's process, and what its main thread waits for: a loop, or a lock."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error, OSError):
            if "--type=renderer" in process.cmdline():
                waits = Path(f"/proc/{process.pid}/wchan").read_text(encoding="utf-8")
                yield f"page {process.pid}: {process.cpu_percent(interval=1)} % of a core; {process.status()} {waits}"


def plain(request: pytest.FixtureRequest) -> str:
    """Returns the test's name for file names."""
    return re.sub(r"\W+", "-", request.node.name).strip("-")


def picture(lab: Lab, name: str) -> None:
    """Takes a screenshot of a failed test; a text of the same name has its console messages."""
    if not lab.page.is_closed():
        with contextlib.suppress(Error):  # a page that does not answer allows no screenshot
            lab.picture(name, timeout=ANSWER_MS)
