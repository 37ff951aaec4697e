"""A real JupyterLab whose kernels another server starts, with the network between them and files of their own."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.server import Server
from tests.browser.side import Side
from tests.browser.test_cell_review import SETUP, STEPS
from tests.kernel.test_gateway import relay, server

__all__ = ["relay", "server"]

BEGIN = """%load_ext agentnb
import agentnb
session = agentnb.start("eliza", title="Far")"""


@pytest.mark.usefixtures("kernelspecs")
def test_turn_with_a_kernel_behind_a_gateway_asks_here_and_writes_files_there(
    server: Server, lab_on: Callable[[Server], Lab]
) -> None:
    """In a cell, by %agent; the chat opens afterwards."""
    lab = lab_on(server)
    lab.open("far.ipynb", notebook(BEGIN, "%agent /write notes.txt hello", kernel="ipykernel7"))
    lab.run_cells(1)
    lab.cell(1).run()
    lab.cell(1).button("Allow").click(timeout=PATIENCE_MS)
    lab.cell(1).expect_done(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    lab.expect_in_kernel("open('notes.txt').read()", "hello\n")
    assert not (server.folder / "notes.txt").exists()
    lab.picture("gateway")


@pytest.mark.usefixtures("kernelspecs")
def test_cell_that_an_agent_behind_a_gateway_proposes_is_accepted_in_the_page(
    server: Server, lab_on: Callable[[Server], Lab]
) -> None:
    """The notebook is here, the agent there: its change is decided and saved here, and runs there."""
    lab = lab_on(server)
    lab.open("changed.ipynb", notebook(SETUP, "a = 1\nprint(a)", kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.say(json.dumps(STEPS))
    bars = lab.panel.locator(".agentnb-cell-bar")
    expect(bars).to_have_count(2, timeout=PATIENCE_MS)
    expect(bars.first).to_have_attribute("data-armed", "true", timeout=PATIENCE_MS)
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+Alt+Enter")
    lab.cell(1).expect_text("11")
    lab.expect_in_kernel("a", 1)
    lab.picture("gateway-cells")
