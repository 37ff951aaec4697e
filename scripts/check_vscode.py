"""Opens an executed notebook in a built VS Code and looks whether what agents answered is shown.

VS Code's own notebook renderers are there, and no extension: no kernel, no widgets. Usage::

    npm install --prefix FOLDER --ignore-scripts code-server   # see docs/how-to/front-ends.md
    python scripts/check_vscode.py FOLDER/node_modules/code-server [NOTEBOOK]
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Literal

from playwright.sync_api import FrameLocator, Page, sync_playwright

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "test-results"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PATIENCE = 120_000
"""Milliseconds for VS Code to show something."""


def main(package: Path, notebook: Path) -> int:
    wanted = outputs_of(notebook)
    with tempfile.TemporaryDirectory(prefix="agentnb-vscode-") as folder:
        work = Path(folder, "work")
        work.mkdir()
        shutil.copy(notebook, work)
        port = free_port()
        with started(package, Path(folder), work, port) as server:
            try:
                wait_for(f"http://127.0.0.1:{port}/healthz", server)
                shown = look(f"http://127.0.0.1:{port}/?folder={work}", notebook.name, wanted)
            finally:
                server.terminate()
    missing = [each for each in wanted if each not in shown]
    print(f"{len(wanted) - len(missing)} of {len(wanted)} answers of {notebook.name} are shown in VS Code.")
    for each in missing:
        print(f"not shown: {each}")
    return bool(missing)


def outputs_of(notebook: Path) -> list[str]:
    """A few words of each Markdown output."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = [
        "".join(output["data"]["text/markdown"])
        for cell in cells
        for output in cell.get("outputs", ())
        if "text/markdown" in output.get("data", {})
    ]
    words = (re.search(r"[A-Za-z][A-Za-z ,]{15,60}", text) for text in texts)
    return list(dict.fromkeys(each[0].strip() for each in words if each is not None))


def started(package: Path, home: Path, work: Path, port: int) -> subprocess.Popen[bytes]:
    """A VS Code server with a home of its own."""
    command = ["node", str(package / "out/node/entry.js"), "--auth", "none", "--bind-addr", f"127.0.0.1:{port}"]
    places = ["--user-data-dir", str(home / "data"), "--extensions-dir", str(home / "extensions")]
    quiet = ["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust", str(work)]
    return subprocess.Popen([*command, *places, *quiet], env={**os.environ, "HOME": str(home)})


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until it answers."""
    while server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - ours
        except OSError:
            time.sleep(0.2)  # noqa: TID251 - nothing tells when it listens
        else:
            return
    sys.exit(f"VS Code ended with status {server.returncode}.")


def look(url: str, name: str, wanted: list[str]) -> list[str]:
    """The words of *wanted* that VS Code shows."""
    RESULTS.mkdir(exist_ok=True)
    found = [sys.executable, str(ROOT / "scripts" / "chromium.py")]
    chromium = subprocess.run(found, capture_output=True, text=True, check=True).stdout.strip()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = set[str]()
        for scheme in SCHEMES:
            page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme=scheme)
            page.goto(url)
            frame = opened(page, name)
            frame.locator(".output").first.wait_for(state="attached", timeout=PATIENCE)
            for place in range(12):  # what is far away is not rendered
                texts = frame.locator("body").inner_text(timeout=PATIENCE)
                shown |= {each for each in wanted if each in " ".join(texts.split())}
                if place == 0:
                    page.screenshot(path=RESULTS / f"vscode-{scheme}.png")
                page.mouse.wheel(0, 700)
                page.wait_for_timeout(400)
            page.close()
        browser.close()
    return [each for each in wanted if each in shown]


def opened(page: Page, name: str) -> FrameLocator:
    """Open the notebook; its outputs are in a frame in a frame."""
    page.get_by_role("treeitem", name=name).first.dblclick(timeout=PATIENCE)
    page.locator(".notebookOverlay").first.wait_for(timeout=PATIENCE)
    page.locator(".notebookOverlay .cell-list-container").first.hover()
    return page.frame_locator("iframe.webview").first.frame_locator("iframe")


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit(__doc__)
    chosen = Path(sys.argv[2]) if sys.argv[2:] else ROOT / "notebooks" / "report.ipynb"
    sys.exit(main(Path(sys.argv[1]).resolve(), chosen.resolve()))
