"""A user's first day with a real agent, once with each Python: install, ask, review, undo, and CI without the agent.

OpenCode from npm, with a scripted model on this machine, in JupyterLab from the wheel of this checkout. Each step is
timed and leaves a picture in FOLDER/PYTHON.

Usage: ``python scripts/first_day.py FOLDER [PYTHON …]`` in a checkout with its environment (``make static`` first);
without PYTHON, each supported one that this machine has. It needs npm, a package index, and half a gigabyte for each.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.floors import find_python  # noqa: E402 - the checkout is not on the path before
from scripts.newcomer import Newcomer, bare, browser, build, lab, load  # noqa: E402
from tests.browser.chat import Chat  # noqa: E402
from tests.browser.lab import PATIENCE_MS, notebook  # noqa: E402
from tests.browser.side import Side  # noqa: E402
from tests.peers import model  # noqa: E402
from tests.peers.agents import PEERS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page

AGENT = PEERS["opencode"]
TITLE = "OpenCode"
ANSWER = "I used the tool"
CELLS = ("%load_ext agentnb", "%agent -a opencode [[text]] Explain the plan.")
EXECUTE = "-m nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False fit.ipynb"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")


class Day:
    """One Python's day.

    Args:
        python: The interpreter to make the environment with.
        folder: Where the pictures go.
        wheel: What is installed.
    """

    def __init__(self, python: str, folder: Path, wheel: Path) -> None:
        self.python, self.folder, self.wheel = python, folder, wheel
        self.newcomer = Newcomer()
        self.pictures = 0

    def take(self, page: Page, name: str) -> None:
        """A picture of the page."""
        self.pictures += 1
        page.screenshot(path=self.folder / f"{self.pictures:02}-{name}.png", animations="disabled")

    def live(self) -> None:
        """Everything, in a folder that is removed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="first-day-", ignore_cleanup_errors=True) as name:
            home = Path(name)
            work = home / "work"
            work.mkdir()
            python = self.install(home / "env")
            with model.served(home / "model.log", work) as server:
                at_home = AGENT.at_home(home / "home", server)
                path = os.pathsep.join((str(AGENT.executable.parent), os.environ["PATH"]))
                with lab(python, work, {**at_home, "PATH": path}) as address, browser() as page:
                    self.ask(page, address, work)
                self.record(python, work, {**at_home, "PATH": path})
            self.check(python, work, {"HOME": str(home / "home")})
        print(f"{'in all':<40}{time.monotonic() - began:8.1f} s{self.newcomer.clicks:4} clicks\n", flush=True)

    def install(self, folder: Path) -> Path:
        """The environment; gives its interpreter."""
        with self.newcomer.step("an empty environment"):
            subprocess.run([self.python, "-m", "venv", str(folder)], check=True)
        python = folder / "bin/python"
        with self.newcomer.step("pip install of the wheel, JupyterLab, nbval"):
            packages = [str(self.wheel), "jupyterlab", "nbconvert", "nbval"]
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        return python

    def ask(self, page: Page, address: str, work: Path) -> None:
        """The agent wants to write a file, may, and the user looks at it and undoes it."""
        newcomer, side = self.newcomer, Side(page)
        with newcomer.step("JupyterLab in the browser"):
            load(page, address)
            page.locator(".jp-LauncherCard", has_text="Agent").wait_for(timeout=PATIENCE_MS)
            newcomer.click(page.get_by_role("alert").get_by_role("button", name="No", exact=True))  # JupyterLab's news
            self.take(page, "launcher")
        with newcomer.step(f"a notebook with the chat, {TITLE} chosen"):
            newcomer.click(page.locator(".jp-LauncherCard", has_text="Agent"))
            side.expect_chat()
            self.take(page, "chat")
            newcomer.click(side.pill)
            newcomer.click(side.agents.get_by_role("button", name=TITLE).first)
            expect(side.box).to_be_editable(timeout=PATIENCE_MS)
            self.take(page, "agent-chosen")
        with newcomer.step("the agent's question"):
            side.say_and_wait("[[write]] Write hello.txt.")
            allow = side.chat.locator(".permission").get_by_role("button", name="Allow once", exact=True)
            expect(allow).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
            self.take(page, "question")
        with newcomer.step("allowed, and the answer"):
            newcomer.click(allow)
            require(ANSWER in Chat(side.panel).answer(), "The agent's answer is not the model's.")
            require((work / "hello.txt").exists(), "The agent has written no file.")
            self.take(page, "answer")
        with newcomer.step("the review"):
            newcomer.click(side.button("Review").last)
            review = page.locator(".agentnb-review:visible")
            expect(review.locator(".cm-merge-b")).to_contain_text("hello from", timeout=PATIENCE_MS)
            self.take(page, "review")
        with newcomer.step("undone"):
            undo = side.chat.get_by_role("button", name="Undo", exact=True).last
            newcomer.click(undo)
            expect(side.chat.get_by_role("button", name="Redo", exact=True).last).to_be_visible(timeout=PATIENCE_MS)
            require(not (work / "hello.txt").exists(), "The file is still there after Undo.")
            self.take(page, "undone")

    def record(self, python: Path, work: Path, environment: dict[str, str]) -> None:
        """A notebook that asks the agent, and its cassette: recorded, then replayed once for its outputs."""
        nbformat.write(notebook(*CELLS, kernel="python3"), work / "fit.ipynb")  # type: ignore[no-untyped-call]
        recorded = {**environment, "AGENTNB_CASSETTE": "fit.cassette.jsonl"}
        with self.newcomer.step("recorded by nbconvert, run twice"):
            for _ in range(2):
                run([str(python), *EXECUTE.split()], work, recorded)

    def check(self, python: Path, work: Path, environment: dict[str, str]) -> None:
        """The CI's run, with neither agent nor model; with another prompt it fails and says why."""
        command = [str(python), "-m", "pytest", "--nbval", "--agentnb-strict", "fit.ipynb"]
        with self.newcomer.step("CI from the cassette, without the agent"):
            run(command, work, environment)
        path = work / "fit.ipynb"
        path.write_text(path.read_text(encoding="utf-8").replace("Explain the plan.", "Explain it."), encoding="utf-8")
        with self.newcomer.step("CI fails with another prompt"):
            failed = run(command, work, environment, status=1)
        require("the prompt differs from the recorded one" in failed, f"CI does not say why it fails:\n{failed}")


def run(command: Sequence[str], folder: Path, environment: dict[str, str], status: int = 0) -> str:
    """Run a program that must end with this status; gives what it printed."""
    done = subprocess.run(
        command, cwd=folder, env={**bare(), **environment}, capture_output=True, text=True, check=False
    )
    require(done.returncode == status, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def require(is_so: bool, otherwise: str) -> None:
    """End with a message where something is not as it must be."""
    if not is_so:
        sys.exit(otherwise)


def pythons(named: Sequence[str]) -> dict[str, str]:
    """The interpreters by version: those named, or each supported one of this machine."""
    paths = {version: find_python(version) for version in named or PYTHONS}
    for version in (version for version, python in paths.items() if python is None):
        print(f"Python {version}: not on this machine, left out.")
    return {version: python for version, python in paths.items() if python is not None}


def main() -> None:
    """Every Python's day."""
    if not sys.argv[1:]:
        sys.exit(__doc__)
    AGENT.install()
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        wheel = build(Path(name))
        for version, python in pythons(sys.argv[2:]).items():
            print(f"Python {version}", flush=True)
            Day(python, Path(sys.argv[1], version), wheel).live()


if __name__ == "__main__":
    main()
