"""The kernel access of an agent, and an agent in a terminal: the switches in the chat, in both front ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import Lab, notebook
from tests.browser.side import Side
from tests.browser.test_sidebar_notebook7 import Classic
from tests.mcp_client import PATIENCE, McpClient, said

CELL = "limits = {'upper': 5}"
CHANGE = "limits['upper'] = {}"
VALUE = "limits['upper']"
IS_PAIRED = "__import__('agentnb.host.host', fromlist=['host']).current_host().pairing.on"
CONNECTED = "Paired: Claude Code (terminal)"

Press = Callable[[Locator], None]


def click(button: Locator) -> None:
    button.click()


def enter(button: Locator) -> None:
    button.press("Enter")


def change_access(lab: Lab, side: Side, press: Press) -> None:
    """Lets the agent look, run, then neither; checks in the kernel; the chat reports the first look."""
    side.expect_chat()
    press(side.pill)
    press(side.agents.get_by_role("button", name="Tour").first)
    expect(side.freedom).to_have_text("Ask")
    side.say("/kernel variables limits")
    side.expect_text("limits: dict, length 1")
    side.expect_text("Tour looks at this kernel's variables.")
    choose(lab, side, "look")
    side.say(f"/kernel run {CHANGE.format(6)}")
    side.expect_text("kernel access of this conversation to Look: run_code is not allowed")
    choose(lab, side, "run")
    side.say(f"/kernel run {CHANGE.format(6)}")
    press_answer(side, press)
    lab.expect_in_kernel(VALUE, 6)
    choose(lab, side, "off")
    side.say(f"/kernel run {CHANGE.format(7)}")
    side.expect_text("kernel access of this conversation to Off")
    lab.expect_in_kernel(VALUE, 6)


def choose(lab: Lab, side: Side, access: str) -> None:
    """Chooses the kernel access in *Custom…*."""
    switch = side.custom().get_by_role("combobox", name="Kernel")
    switch.select_option(access)
    expect(switch).to_have_value(access)
    lab.page.keyboard.press("Escape")


def press_answer(side: Side, press: Press) -> None:
    """Allows the request, once it is enabled."""
    allow = side.chat.locator(".permission").get_by_role("button", name="Allow", exact=True)
    expect(allow).not_to_have_attribute("aria-disabled", "true")
    press(allow)
    expect(side.chat.locator(".permission")).to_have_count(0)


def pair(lab: Lab, side: Side, press: Press) -> None:
    """Pairs the kernel in the chat, checks the clients, answers their request, unpairs."""
    press(side.chat.get_by_role("button", name="Conversation", exact=True))
    press(side.chat.get_by_role("menuitem", name="Pair a terminal agent"))
    question = side.chat.get_by_role("alertdialog", name="Pair a terminal agent?")
    expect(question).to_contain_text("Any program you run on this machine")
    lab.expect_in_kernel(IS_PAIRED, False)
    yes = question.get_by_role("button", name="Pair")
    expect(yes).not_to_have_attribute("aria-disabled", "true")
    press(yes)
    side.expect_text("Paired. An agent in your terminal can connect")
    with McpClient(cwd=lab.server.folder) as client:
        assert "limits: dict" in client.call("variables")
        side.expect_text(CONNECTED)
        running = client.begin_call("run_code", code=f"{CHANGE.format(8)}; {VALUE}")
        press(side.chat.locator(".waiting-question", has_text="needs your answer"))
        press_answer(side, press)
        assert said(running.result(PATIENCE)) == "8"
        lab.expect_in_kernel(VALUE, 8)
        assert serious(lab.page) == []
        press(side.chat.get_by_role("button", name="Unpair"))
        expect(side.chat.get_by_text(CONNECTED)).to_have_count(0)  # at once; the kernel receives it a moment later
        lab.expect_in_kernel(IS_PAIRED, False)
        assert "pair it again" in client.call("variables")


def test_jupyterlab_switches_access_and_pairing_by_mouse(lab: Lab, kernelspecs: Path) -> None:
    """The agent has the switch's access; a terminal program works while the kernel is paired."""
    lab.open("access.ipynb", notebook(CELL, kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    change_access(lab, side, click)
    pair(lab, side, click)


@pytest.mark.notebook7
def test_notebook_7_switches_access_and_pairing_by_keyboard(lab: Lab, kernelspecs: Path) -> None:
    classic = Classic(lab)
    classic.open("access7.ipynb", CELL)
    lab.run_cells(1)
    lab.page.keyboard.press("Control+Shift+O")
    change_access(lab, classic.side, enter)
    pair(lab, classic.side, enter)
    lab.picture("pairing-notebook7")
