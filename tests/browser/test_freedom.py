"""The agent's freedom in a real JupyterLab: the control and *Custom…*."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side


def look(lab: Lab, side: Side, name: str, show: Callable[[], object]) -> None:
    """Takes pictures after *show*, light and narrow, dark and wide; checks both with axe."""
    for width, theme in ((1_200, "Dark"), (300, "Light")):
        lab.page.set_viewport_size({"width": 1_900, "height": 1_000})
        lab.page.keyboard.press("Escape")
        side.resize(width)
        show()
        lab.theme(f"JupyterLab {theme}")
        lab.picture(f"freedom-{name}-{width}-{theme.lower()}")
        assert serious(lab.page) == []


def test_freedom_choice_answers_the_waiting_permission_request(lab: Lab, kernelspecs: Path) -> None:
    """By mouse, then by keyboard; the turn continues."""
    lab.open("freedom.ipynb", notebook("x = 1", kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.start()
    expect(side.freedom).to_have_text("Ask")
    side.say("/write a.txt hello")
    side.chat.locator(".permission").wait_for(timeout=PATIENCE_MS)
    side.freedom.click()
    menu = side.chat.get_by_role("menu", name="Freedom: Ask")
    expect(menu.get_by_role("menuitem")).to_have_text(
        [re.compile("^Ask"), re.compile("^Edit"), re.compile("^Auto"), re.compile("^Custom…")]
    )

    def show() -> None:
        if side.freedom.get_attribute("aria-expanded") == "false":
            side.freedom.click()
        menu.wait_for()

    look(lab, side, "menu", show)
    menu.get_by_role("menuitem", name=re.compile("^Edit")).click()
    expect(side.freedom).to_have_text("Edit", timeout=PATIENCE_MS)
    expect(side.chat.locator(".permission")).to_have_count(0, timeout=PATIENCE_MS)
    side.say("/write b.txt hello")
    expect(side.chat.locator(".tool")).to_have_count(2, timeout=PATIENCE_MS)
    expect(side.chat.locator(".stop")).to_have_count(0, timeout=PATIENCE_MS)
    assert {each.name for each in lab.server.folder.glob("[ab].txt")} == {"a.txt", "b.txt"}
    side.freedom.press("Enter")
    expect(side.chat.locator("[role=menuitem]:focus")).to_contain_text("Edit")
    lab.page.keyboard.press("ArrowUp")
    lab.page.keyboard.press("Enter")
    expect(side.freedom).to_have_text("Ask", timeout=PATIENCE_MS)
    expect(side.freedom).to_be_focused()
    custom_has_the_settings_behind_it_and_full_trust_behind_a_confirmation(lab, side)


def custom_has_the_settings_behind_it_and_full_trust_behind_a_confirmation(lab: Lab, side: Side) -> None:
    """Each setting makes it Custom; the control shows full trust; Escape closes the panel."""
    panel = side.custom()
    panel.get_by_role("combobox", name="Kernel").select_option("look")
    expect(side.freedom).to_have_text("Custom", timeout=PATIENCE_MS)
    panel.get_by_role("textbox", name="Files, with * and **").fill("data/**")
    panel.get_by_role("button", name="Add").click()
    panel.get_by_role("button", name="Remove data/**").wait_for(timeout=PATIENCE_MS)
    look(lab, side, "custom", side.custom)
    assert panel.evaluate("(panel) => panel.scrollWidth <= panel.clientWidth"), "a narrow panel fits"
    panel.get_by_role("button", name="Trust this agent fully…").click()
    expect(side.freedom).to_have_text("Custom")
    panel.get_by_role("group", name="Confirm full trust").get_by_role("button", name="Trust fully").click()
    expect(side.freedom).to_have_text("Full trust", timeout=PATIENCE_MS)
    grants = panel.get_by_role("group", name="Allowed without asking")
    expect(grants).to_contain_text("Tour may do everything without asking", timeout=PATIENCE_MS)
    look(lab, side, "full-trust", side.custom)
    lab.page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    expect(side.freedom).to_be_focused()
    side.choose_freedom("Ask")
    expect(side.freedom).to_have_text("Ask", timeout=PATIENCE_MS)
