"""Take a newcomer's way, and say how long it takes and how many clicks.

An empty environment, ``pip install`` of the wheel and JupyterLab, JupyterLab in a browser, a question to a model on
this machine (the scripted one of the tests, which speaks as Ollama does), its answer from a file. No file is edited; as
the scripted model server has a port of its own, the variable ``AGENTNB_LOCAL_PORTS`` names it.

Usage: ``python scripts/newcomer.py`` in a checkout with its environment (``make static`` first). It needs a package
index, some minutes, and half a gigabyte in the folder for temporary files.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Error, Locator, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import chromium  # noqa: E402 - the checkout is not on the path before
from tests.browser.chat import Chat  # noqa: E402
from tests.browser.conftest import FLAGS, VIEWPORT  # noqa: E402
from tests.browser.lab import PATIENCE_MS  # noqa: E402
from tests.browser.server import free_port  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

MOST_CLICKS = 2
TOKEN = secrets.token_hex()
QUESTION = "How many lines has planets.csv, and which is the first?"
TABLE = "name,moons\nEarth,1\nMars,2\n"
ANSWER = "The first is: name,moons"


class Newcomer:
    """Clicks, counted, and steps, timed.

    Attributes:
        clicks: How often the newcomer has clicked.
    """

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, place: Locator) -> None:
        """Click something that can be seen."""
        place.click(timeout=PATIENCE_MS)
        self.clicks += 1

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do something, and print how long it took."""
        began, before = time.monotonic(), self.clicks
        yield
        print(f"{name:<40}{time.monotonic() - began:8.1f} s{self.clicks - before:4} clicks", flush=True)


def main() -> None:
    """Take the way; exits with an error if it takes more clicks than it may."""
    newcomer = Newcomer()
    with tempfile.TemporaryDirectory(prefix="newcomer-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        wheel = build(folder / "dist")
        began = time.monotonic()
        with newcomer.step("an empty environment"):
            venv.create(folder / "env", with_pip=True)
        python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        with newcomer.step("pip install of the wheel and JupyterLab"):
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", str(wheel), "jupyterlab"], check=True)
        work = folder / "work"
        work.mkdir()
        (work / "planets.csv").write_text(TABLE)
        home = {"HOME": str(folder / "home"), "AGENTNB_LOCAL_MODEL": "reads"}
        with (
            models() as port,
            lab(python, work, {**home, "AGENTNB_LOCAL_PORTS": str(port)}) as address,
            browser() as page,
        ):
            ask(newcomer, page, address)
        print(f"{'in all':<40}{time.monotonic() - began:8.1f} s{newcomer.clicks:4} clicks")
    if newcomer.clicks > MOST_CLICKS:
        sys.exit(f"It took {newcomer.clicks} clicks; it may take {MOST_CLICKS}.")


def build(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*.whl"))


def bare() -> dict[str, str]:
    """This process's environment variables, without those that set up Jupyter, Python, or agentnb."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "AGENTNB", "PYTHON"))}


@contextmanager
def models() -> Iterator[int]:
    """The scripted model server; gives the port where it speaks as Ollama does."""
    command = [sys.executable, str(ROOT / "tests/agents/model_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        line = b"" if process.stdout is None else process.stdout.readline()
        try:
            yield json.loads(line)["ollama"]
        finally:
            process.communicate()


@contextmanager
def lab(python: Path, work: Path, environment: dict[str, str]) -> Iterator[str]:
    """JupyterLab of the new environment, with these variables of its own; gives its address."""
    Path(environment["HOME"]).mkdir(exist_ok=True)
    listens = free_port()
    options = [f"--ServerApp.port={listens}", f"--IdentityProvider.token={TOKEN}", "--no-browser", "--allow-root"]
    command = [str(python), "-m", "jupyterlab", *options]
    with subprocess.Popen(command, cwd=work, env={**bare(), **environment}, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{listens}/lab?token={TOKEN}"
        finally:
            process.terminate()


@contextmanager
def browser() -> Iterator[Page]:
    """A browser with an empty profile."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        yield opened.new_page(viewport=VIEWPORT)
        opened.close()


def ask(newcomer: Newcomer, page: Page, address: str) -> None:
    """From the address in the browser to the answer."""
    with newcomer.step("JupyterLab in the browser"):
        load(page, address)
        card = page.locator(".jp-LauncherCard", has_text="Agent")
        card.wait_for(timeout=PATIENCE_MS)
    with newcomer.step("a notebook with the chat, the local model"):
        newcomer.click(card)
        side = page.locator("#agentnb-sidebar")
        newcomer.click(side.get_by_role("button", name="Local model"))
        side.get_by_role("tab", name="Local model").wait_for(timeout=PATIENCE_MS)
    with newcomer.step("the answer, from the file"):
        chat = Chat(side)
        chat.say(QUESTION)
        answer = chat.answer()
    if ANSWER not in answer:
        sys.exit(f"The answer is not useful: {answer}")
    print(f"\n{QUESTION}\n{answer}\n")


def load(page: Page, address: str) -> None:
    """Open JupyterLab as soon as it listens."""
    until = time.monotonic() + PATIENCE_MS / 1000
    while True:
        try:
            page.goto(address, timeout=PATIENCE_MS)
        except Error:  # not listening yet
            if time.monotonic() > until:
                raise
            page.wait_for_timeout(200)
        else:
            return


if __name__ == "__main__":
    main()
