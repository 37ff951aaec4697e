"""Opens an executed notebook in a built VS Code, and its list of MCP servers: are answers shown, has it `agentnb mcp`?

VS Code's own notebook renderers are there, and no extension: no kernel, no widgets, no agent. Usage::

    npm install --prefix FOLDER --ignore-scripts code-server && cd FOLDER && npm rebuild argon2
    cd node_modules/code-server/lib/vscode && npm install --ignore-scripts --omit=dev
    npm_config_yes=true npm rebuild @parcel/watcher node-pty @vscode/spdlog @vscode/sqlite3
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

from playwright.sync_api import FrameLocator, Page, TimeoutError, sync_playwright  # noqa: A004 - the one of its waits

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "test-results"
PATIENCE = 120_000
"""Milliseconds for VS Code to show something."""
TRIES = 12
SCHEMA_WAIT = 8_000
"""Milliseconds in which VS Code fetches the schema of schemas from the network; it leaves out tools if it cannot."""


def main(package: Path, notebook: Path) -> int:
    wanted = outputs_of(notebook)
    with tempfile.TemporaryDirectory(prefix="agentnb-vscode-") as folder:
        work = Path(folder, "work")
        work.mkdir()
        shutil.copy(notebook, work)
        entry = {"type": "stdio", "command": str(Path(sys.executable).parent / "agentnb"), "args": ["mcp"]}
        (work / ".vscode").mkdir()
        (work / ".vscode/mcp.json").write_text(json.dumps({"servers": {"agentnb": entry}}), encoding="utf-8")
        port = free_port()
        with started(package, Path(folder), work, port) as server:
            try:
                wait_for(f"http://127.0.0.1:{port}/healthz", server)
                visible, tools = look(f"http://127.0.0.1:{port}/?folder={work}", notebook.name, wanted)
            finally:
                server.terminate()
    missing = [each for each in wanted if each not in visible]
    print(f"{len(wanted) - len(missing)} of {len(wanted)} answers of {notebook.name} are shown in VS Code.")
    for each in missing:
        print(f"not shown: {each}")
    print(f"agentnb mcp in VS Code: {tools}")
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


def look(url: str, name: str, wanted: list[str]) -> tuple[list[str], str]:
    """The words of *wanted* that VS Code shows, and what it says of the MCP server."""
    RESULTS.mkdir(exist_ok=True)
    command = [sys.executable, str(ROOT / "scripts" / "chromium.py")]
    chromium = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(url)
        frame = opened(page, name)
        frame.locator(".output").first.wait_for(state="attached", timeout=PATIENCE)
        visible = set[str]()
        for place in range(40):  # distant outputs are not rendered
            visible |= {each for each in wanted if frame.get_by_text(each).first.is_visible()}  # in shadow roots
            if place % 8 == 0:
                page.screenshot(path=RESULTS / f"vscode-{place}.png")
            page.mouse.wheel(0, 700)
            page.wait_for_timeout(200)
        try:
            tools = tools_of_mcp(page)
        except TimeoutError as error:
            tools = f"not started ({str(error).splitlines()[0]})"
        page.screenshot(path=RESULTS / "vscode-mcp.png")
        browser.close()
    return [each for each in wanted if each in visible], tools


def opened(page: Page, name: str) -> FrameLocator:
    """Open the notebook; its outputs are in a frame in a frame."""
    cells = page.locator(".notebookOverlay .cell-list-container").first
    page.get_by_role("treeitem", name=name).first.wait_for(timeout=PATIENCE)
    for _ in range(TRIES):  # until its notebook extension runs, VS Code shows the file as text
        page.get_by_role("treeitem", name=name).first.dblclick()
        try:
            cells.wait_for(timeout=PATIENCE / TRIES)
            break
        except TimeoutError:
            page.get_by_role("tab", name=name).locator(".codicon-close").click()
    cells.hover(timeout=PATIENCE)
    return page.frame_locator("iframe.webview").first.frame_locator("iframe")


def tools_of_mcp(page: Page) -> str:
    """What VS Code logs of the server in `mcp.json`, once it has started it: how many tools it has found, and kept."""
    page.get_by_role("treeitem", name=".vscode").first.click()
    page.get_by_role("treeitem", name="mcp.json").first.dblclick()
    lens = page.locator(".codelens-decoration")
    lens.get_by_text("Start").first.click(timeout=PATIENCE)
    lens.get_by_text("Running").first.click(timeout=PATIENCE)  # shows its log
    log = page.locator(".view-line", has_text=re.compile(r"Discovered\s\d+\stools"))
    log.first.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(SCHEMA_WAIT)
    words = [*log.all_inner_texts(), *page.locator(".view-line", has_text="warning").all_inner_texts()]
    return "; ".join(" ".join(each.split()) for each in words)


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3}:
        sys.exit(__doc__)
    chosen = Path(sys.argv[2]) if sys.argv[2:] else ROOT / "notebooks" / "report.ipynb"
    sys.exit(main(Path(sys.argv[1]).resolve(), chosen.resolve()))
