"""Kernels on another machine, so far as one machine has two: behind a gateway, and closed in like a container's."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import server as jupyter
from tests.browser.apart import apart
from tests.browser.chat import Chat, counted
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import TOKEN, Server
from tests.browser.side import Side
from tests.unit.server.websocket.conftest import relay
from tests.unit.server.websocket.relay import Relay

__all__ = ["relay"]

ELSEWHERE = "it is on the kernel's machine, and Jupyter's server has another one of this name"
MISSING = "it is outside the server's folder, on another machine, or missing"
LOST = b"Lost connection to Gateway"


@pytest.fixture
def behind_gateway(home: Path, kernelspecs: Path, tmp_path: Path, relay: Relay) -> Iterator[Server]:
    """A JupyterLab whose kernels a second server starts, which has the same paths and files of its own."""
    folder = tmp_path / "shared-path"
    folder.mkdir()
    gateway = jupyter.start(home, folder, within=apart(folder))
    relay.lead_to(gateway.url)
    options = {"url": f"http://{relay.place}", "auth_token": TOKEN, "auth_scheme": "token"}
    options |= {"gateway_retry_interval": "0.1", "gateway_retry_interval_max": "1", "gateway_retry_max": "100"}
    server = jupyter.start(home, folder, *(f"--GatewayClient.{name}={value}" for name, value in options.items()))
    yield server
    server.stop()
    gateway.stop()


def chat_on(lab: Lab, name: str, kernel: str) -> Side:
    """Open a notebook and begin a conversation beside it."""
    lab.open(name, notebook("import os", "a = 1", kernel=kernel))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.start()
    return side


def files_are_those_of_the_kernel(lab: Lab, side: Side, reason: str) -> None:
    """What the agent writes is there, reviewed, downloaded and undone there; the server's file is not touched."""
    own = lab.server.folder / "notes.txt"
    side.say("/write notes.txt hello")
    side.allow()
    counts = side.chat.locator(".change-counts")
    expect(counts).to_contain_text("1 file", timeout=PATIENCE_MS)
    lab.expect_in_kernel("open('notes.txt').read()", "hello\n")
    side.button("Review").click()
    expect(lab.page.locator(".agentnb-review:visible .cm-merge-b")).to_contain_text("hello", timeout=PATIENCE_MS)
    side.button("Open notes.txt").click()
    expect(lab.page.get_by_text(reason).first).to_be_visible(timeout=PATIENCE_MS)
    lab.picture(f"remote-kernel-{own.parent.name}")
    with lab.page.expect_download() as downloading:
        side.button("Download notes.txt").click()
    assert Path(downloading.value.path()).read_text(encoding="utf-8") == "hello\n"
    assert not own.exists() or own.read_text(encoding="utf-8") == "of the server"
    side.button("Undo notes.txt").click()
    expect(side.button("Redo notes.txt")).to_be_visible(timeout=PATIENCE_MS)
    lab.expect_in_kernel("os.path.exists('notes.txt')", value=False)


def test_kernel_behind_a_gateway_keeps_its_files_and_a_gateway_that_drops_loses_nothing(
    behind_gateway: Server, lab_on: Callable[[Server], Lab], relay: Relay
) -> None:
    """Cells are the page's, files the kernel's; in mid-turn the gateway goes and comes back."""
    (behind_gateway.folder / "notes.txt").write_text("of the server", encoding="utf-8")
    lab = lab_on(behind_gateway)
    side = chat_on(lab, "far.ipynb", "ipykernel7")
    files_are_those_of_the_kernel(lab, side, ELSEWHERE)
    chat = Chat(side.session)
    turns = chat.copy.count()
    side.say("/slow 400 20")
    chat.expect_text("5 6 7")
    relay.cut()
    wait_for_log(behind_gateway, LOST)
    side.say("/say sent meanwhile")
    relay.mend()
    chat.expect_text("sent meanwhile")
    assert chat.answer(turns + 2) == "sent meanwhile"
    expect(side.chat.locator(".turn")).to_have_count(turns + 2)
    expect(side.chat.locator(".answer").nth(turns)).to_contain_text(counted(400).strip())
    lab.picture("gateway-back")


def wait_for_log(server: Server, words: bytes) -> None:
    """Wait until the server has written *words*."""
    seen = 0
    while not any(words in line for line in server.log[seen:]):
        assert server.process.poll() is None
        server.reader.join(0.05)


def test_kernel_that_shares_only_its_ports_keeps_its_files(lab: Lab, kernelspecs: Path, server: Server) -> None:
    """As in a container: the notebook's own path names nothing there."""
    folder = kernelspecs / "kernels/apart"
    folder.mkdir(exist_ok=True)
    command = [*apart(server.folder), sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher"]
    argv = [*command, "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "apart", "language": "python", "metadata": {"debugger": False}}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    side = chat_on(lab, "apart.ipynb", "apart")
    files_are_those_of_the_kernel(lab, side, MISSING)
