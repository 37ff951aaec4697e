"""The sidebar in JupyterLab and Notebook 7, as a page object."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import Locator, expect

import agentnb
from tests.browser.lab import PATIENCE_MS

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.lab import Lab

NOTEBOOK = "__import__('agentnb.server.comm.lab', fromlist=['lab']).current_notebook()"
"""A Python expression: the notebook as the kernel knows it."""
FIRST_WIDTH = 420
"""The sidebar's width in a new page, in pixels (`js/src/lab/sidebar-width.ts`)."""
NAMES = {"eliza": "Tour"}
"""The chat's names for agents, by the tests' names."""
SOURCES = "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(c => c.getSource())"


class Side:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.panel = page.locator("#agentnb-sidebar")
        self.icon = page.locator(".jp-SideBar.jp-mod-right [data-id='agentnb-sidebar']")
        self.session = self.panel.locator(".agentnb-session:not(.lm-mod-hidden)")
        self.head = self.session.locator(".agentnb-head")
        self.notice = self.session.locator(".agentnb-notice")
        self.chat = self.session.locator(".agentnb-view")
        self.box = self.chat.get_by_role("textbox")
        self.pill = self.chat.locator(".pill")
        self.agents = self.chat.get_by_role("dialog", name="Agent and options")
        self.question = self.chat.locator(".permission, .waiting-link")

    def open(self) -> None:
        self.icon.click()
        self.panel.wait_for(timeout=PATIENCE_MS)

    def expect_state(self, state: str) -> None:
        """Waits for the active notebook's state: ``shown``, ``missing``, ``no kernel``, …."""
        self.session.and_(self.page.locator(f"[data-state='{state}']")).wait_for(timeout=PATIENCE_MS)

    def expect_chat(self) -> None:
        self.expect_state("shown")
        self.chat.wait_for(timeout=PATIENCE_MS)

    def start(self, agent: str = "eliza") -> None:
        """Begins a conversation with an agent through the box's pill."""
        self.expect_chat()
        self.pill.click()
        name = NAMES.get(agent, agent)
        self.agents.get_by_role("button", name=name).first.click()
        self.chat.get_by_role("tab", selected=True).filter(has_text=name).wait_for(timeout=PATIENCE_MS)
        expect(self.box).to_be_editable(timeout=PATIENCE_MS)

    def say(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")

    def say_and_wait(self, text: str) -> None:
        """Also waits until the box is empty: Enter waits for a new conversation."""
        self.say(text)
        expect(self.box).to_have_value("", timeout=PATIENCE_MS)

    def allow(self) -> None:
        """Allows the permission request in the chat or in a cell, once it is enabled."""
        card = self.chat.locator(".permission").get_by_role("button", name="Allow", exact=True)
        cell = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .agentnb-cell-bar[data-armed=true]")
        button = card.or_(cell.get_by_role("button", name="Accept", exact=True)).first
        button.wait_for(timeout=PATIENCE_MS)
        expect(button).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
        button.click()

    def choose_freedom(self, word: str) -> None:
        """Chooses the freedom of the agent: Ask, Edit or Auto, or opens Custom…."""
        self.freedom.click()
        self.chat.get_by_role("menuitem", name=re.compile(f"^{word}")).click()

    @property
    def freedom(self) -> Locator:
        return self.chat.locator(".freedom-button")

    def custom(self) -> Locator:
        """Opens the panel of *Custom…*."""
        self.choose_freedom("Custom…")
        panel = self.chat.get_by_role("dialog", name="Custom freedom")
        panel.get_by_role("group", name="Allowed without asking").wait_for(timeout=PATIENCE_MS)
        return panel

    def button(self, name: str) -> Locator:
        """Returns a button of the chat or the notice."""
        return self.session.get_by_role("button", name=name)

    def expect_text(self, text: str) -> None:
        self.chat.get_by_text(text).first.wait_for(timeout=PATIENCE_MS)

    def expect_answer(self, text: str) -> None:
        """Waits for a whole answer; the prompt may have the same text."""
        answer = self.chat.locator(".answer").get_by_text(text, exact=True)
        answer.first.wait_for(timeout=PATIENCE_MS)

    def resize(self, width: int) -> None:
        """Drags the panel's edge to *width* in pixels."""
        box = self.panel.bounding_box()
        assert box is not None
        edge, middle = box["x"] - 2, box["y"] + 300
        self.page.mouse.move(edge, middle)
        self.page.mouse.down()
        self.page.mouse.move(edge + box["width"] - width, middle, steps=4)
        self.page.mouse.up()

    def draw_back(self) -> bool:
        """Drags the panel's edge to a new page's width; returns True on success, False if hidden."""
        if not self.panel.is_visible():
            return False
        self.resize(FIRST_WIDTH)
        self.page.mouse.move(0, 0)
        box = self.panel.bounding_box()
        return box is not None and abs(box["width"] - FIRST_WIDTH) <= 1


def install(site: Path) -> str:
    """Python that puts agentnb into the bare kernel's site folder."""
    package = Path(agentnb.__file__).parent
    return f"import os; os.symlink({str(package)!r}, {str(site / 'agentnb')!r})"


def sources(lab: Lab) -> list[str]:
    """Returns the code cells' text in the open notebook."""
    return list(lab.page.evaluate(SOURCES))


def expect_sources(lab: Lab, expected: list[str]) -> None:
    """Waits for these code cells after the first one."""
    script = f"(expected) => JSON.stringify(({SOURCES})().slice(1)) === JSON.stringify(expected)"
    lab.page.wait_for_function(script, arg=expected)
