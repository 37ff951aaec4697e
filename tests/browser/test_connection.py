"""The chat reports an unreachable kernel, and continues by itself once the kernel is back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.conftest import new_lab
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import start

CHAT = "import agentnb\nsession = agentnb.start()\nagentnb.chat(session)"
ANOTHER_KERNEL = """async (name) => {
  const { serviceManager, shell } = window.jupyterapp;
  await serviceManager.sessions.refreshRunning();
  const context = shell.currentWidget.sessionContext;
  await context.changeKernel({ name });
  await context.session.kernel.info;
}"""
"""Starts another kernel for the notebook, after the page has refreshed its list of the server's sessions."""
BUSY = "import time\nprint('it blocks')\ntime.sleep(300)"


@pytest.fixture
def responsive_kernel(kernelspecs: Path) -> str:
    """A kernel that pages can reach during a cell."""
    assert (kernelspecs / "kernels/ipykernel7").exists()
    return "ipykernel7"


@pytest.fixture
def blocked_kernel(kernelspecs: Path) -> str:
    """A kernel that pages cannot reach during a cell."""
    if not (kernelspecs / "kernels/ipykernel6").exists():
        pytest.skip("no ipykernel6: `make test-kernel` makes it")
    return "ipykernel6"


def opened(lab: Lab, name: str, kernel: str, *cells: str) -> Chat:
    """Opens a notebook; runs its first cell, which shows the chat."""
    lab.open(f"{name}-{kernel}.ipynb", notebook(CHAT, *cells, kernel=kernel))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    chat = Chat(cell.output)
    expect(chat.box).to_be_editable(timeout=PATIENCE_MS)
    return chat


def test_old_view_reports_a_restart_and_opens_the_new_chat(lab: Lab, responsive_kernel: str) -> None:
    """During an answer: the text so far and the draft stay; nothing seems to run, and the user cannot send."""
    chat = opened(lab, "restarted", responsive_kernel, "#\n" * 70, CHAT)
    chat.count_slowly(1_000, 20)
    chat.box.fill("a draft")
    lab.restart()
    chat.expect_banner("The kernel restarted.")
    expect(chat.box).to_have_value("a draft")
    chat.box.press("Enter")
    expect(chat.box).to_have_value("a draft")
    chat.expect_text("5 6 7")
    for name in ("Stop", "Send message", "Queue message"):
        expect(chat.root.get_by_role("button", name=name, disabled=False)).to_have_count(0)
    lab.picture(f"restarted-{responsive_kernel}")

    show = chat.root.get_by_role("button", name="Show the new chat")
    expect(show).to_have_count(0)
    cell = lab.cell(2)
    cell.run()
    new = Chat(cell.output)
    new.say("/say I am new here")
    assert new.answer() == "I am new here"
    expect(new.banner).to_have_count(0)
    lab.panel.locator(".jp-WindowedPanel-outer").evaluate("e => e.scrollTo(0, 0)")
    expect(new.root).not_to_be_in_viewport()
    show.click()
    expect(new.root).to_be_in_viewport(timeout=PATIENCE_MS)
    a_kernel_that_died_or_was_shut_down_is_said_to_have_ended(lab, new)


def a_kernel_that_died_or_was_shut_down_is_said_to_have_ended(lab: Lab, chat: Chat) -> None:
    """During an answer: JupyterLab starts a new kernel by itself; the view does not belong to it."""
    chat.count_slowly(1_000, 20)
    lab.cell(1).write("import os\nos._exit(3)")
    lab.cell(1).run()
    chat.expect_banner("The kernel restarted.")
    expect(chat.root.get_by_role("button", name="Stop")).to_have_count(0)
    lab.expect_idle()
    lab.command("notebook:shutdown-kernel")
    chat.expect_banner("The kernel ended.")
    expect(chat.root.get_by_role("button", name="Send message", disabled=False)).to_have_count(0)


def test_message_waits_while_a_cell_blocks_the_kernel(lab: Lab, blocked_kernel: str) -> None:
    """A cell blocks: an answer streams, the chat says so, a message waits until the cell is interrupted."""
    chat = opened(lab, "busy", blocked_kernel, BUSY)
    expected = chat.count_slowly()
    blocking = lab.cell(1)
    blocking.run()
    blocking.expect_text("it blocks")
    assert chat.answer() == expected
    blocking.expect_running()
    chat.say("/say at last")
    chat.expect_banner("The kernel is running a cell.")
    lab.picture(f"busy-{blocked_kernel}")
    lab.interrupt()
    blocking.expect_done(2)
    assert chat.answer(2) == "at last"
    expect(chat.banner).to_have_count(0, timeout=PATIENCE_MS)


def test_chat_works_with_subshells_while_a_cell_blocks(lab: Lab, responsive_kernel: str) -> None:
    """The chat works as if no cell ran, and an interrupt of the cell does not affect it."""
    chat = opened(lab, "hears", responsive_kernel, BUSY)
    blocking = lab.cell(1)
    blocking.run()
    blocking.expect_text("it blocks")
    chat.say("/ask edit")
    chat.root.get_by_role("button", name="Allow once").click()
    chat.expect_text(re.compile("You chose"))
    blocking.expect_running()
    expected = chat.count_slowly(50)
    lab.interrupt()
    blocking.expect_done(2)
    assert chat.answer(2) == expected
    expect(chat.banner).to_have_count(0)


def test_view_reports_the_kernel_ended_after_a_server_restart(
    home: Path, kernelspecs: Path, tmp_path: Path, profile: BrowserContext
) -> None:
    """First no connection, then no kernel; without a reload the draft stays, and a newly run cell works."""
    assert (kernelspecs / "kernels/ipykernel7").exists()
    server = start(home, tmp_path)
    lab = new_lab(profile, server)
    try:
        chat = opened(lab, "stopped", "ipykernel7", CHAT)
        chat.count_slowly(1_000, 20)
        chat.box.fill("a draft")
        lab.close_connection_errors()
        server.stop()
        chat.expect_banner("Disconnected.")
        lab.picture("server-stopped")
        server = start(home, tmp_path, port=server.port)
        chat.expect_banner("The kernel ended.")
        lab.picture("server-back")
        expect(chat.box).to_have_value("a draft")
        chat.expect_text("5 6 7")
        expect(chat.root.get_by_role("button", name="Stop")).to_have_count(0)
        lab.page.evaluate(ANOTHER_KERNEL, "ipykernel7")
        cell = lab.cell(1)
        cell.run()
        new = Chat(cell.output)
        new.say("/say here again")
        assert new.answer() == "here again"
        chat.root.get_by_role("button", name="Show the new chat").wait_for(timeout=PATIENCE_MS)
        chat.expect_banner("The kernel restarted.")
    finally:
        lab.page.close()
        server.stop()


def test_chat_reports_and_recovers_from_a_cut_connection(open_lab: Callable[[], Lab], responsive_kernel: str) -> None:
    """The network fails during an answer; a prompt typed meanwhile is answered after it returns."""
    lab = open_lab()
    cut = False
    sockets: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        if cut:
            socket.close()
        else:
            socket.connect_to_server()
            sockets.append(socket)

    lab.page.route_web_socket(re.compile("/channels"), connect)
    chat = opened(lab, "cut", responsive_kernel)
    expected = chat.count_slowly()
    cut = True
    for socket in sockets:
        socket.close(code=3000)
    chat.expect_banner("Disconnected.")
    lab.picture(f"cut-{responsive_kernel}")
    chat.say("/say still there")
    cut = False
    expect(chat.banner).to_have_count(0, timeout=PATIENCE_MS)
    assert chat.answer(2) == "still there"
    first: str = chat.copy.first.evaluate("e => e.closest('.turn').querySelector('.answer').textContent")
    assert first.strip() == expected.strip()
