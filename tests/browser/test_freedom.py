"""How freely an agent works, in a real JupyterLab: the control, *Custom…*, and the list of grants in two windows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side


def begin(lab: Lab, name: str) -> Side:
    lab.open(name, notebook("x = 1", kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.start()
    return side


def look(lab: Lab, side: Side, name: str, show: Callable[[], object]) -> None:
    """Take pictures of what *show* opens, light and narrow, dark and wide; axe finds nothing wrong in either."""
    for width, theme in ((1_200, "Dark"), (420, "Light")):
        lab.page.set_viewport_size({"width": 1_900, "height": 1_000})
        lab.page.keyboard.press("Escape")
        side.resize(width)
        show()
        lab.theme(f"JupyterLab {theme}")
        lab.picture(f"freedom-{name}-{width}-{theme.lower()}")
        assert serious(lab.page) == []


def test_a_freedom_is_chosen_in_place_and_counts_for_the_card_that_waits(lab: Lab, kernelspecs: Path) -> None:
    """By mouse, then by keyboard; the turn goes on as it was."""
    side = begin(lab, "freedom.ipynb")
    expect(side.freedom).to_have_text("Ask")
    side.say("/write a.txt hello")
    expect(side.chat.locator(".permission")).to_be_visible(timeout=PATIENCE_MS)
    side.freedom.click()
    menu = side.chat.get_by_role("menu", name="Freedom: Ask")
    expect(menu.get_by_role("menuitem")).to_have_text(
        [re.compile("^Ask"), re.compile("^Edit"), re.compile("^Auto"), re.compile("^Custom…")]
    )
    look(lab, side, "menu", side.freedom.click)
    menu.get_by_role("menuitem", name=re.compile("^Edit")).click()
    expect(side.freedom).to_have_text("Edit", timeout=PATIENCE_MS)
    expect(side.chat.locator(".permission")).to_have_count(0, timeout=PATIENCE_MS)
    side.say("/write b.txt hello")
    expect(side.chat.locator(".tool")).to_have_count(2, timeout=PATIENCE_MS)
    assert {each.name for each in lab.server.folder.glob("[ab].txt")} == {"a.txt", "b.txt"}
    side.freedom.press("Enter")
    expect(side.chat.locator("[role=menuitem]:focus")).to_contain_text("Edit")
    lab.page.keyboard.press("ArrowUp")
    lab.page.keyboard.press("Enter")
    expect(side.freedom).to_have_text("Ask", timeout=PATIENCE_MS)
    expect(side.freedom).to_be_focused()


def test_custom_has_the_settings_behind_it_and_full_trust_behind_a_confirmation(lab: Lab, kernelspecs: Path) -> None:
    """Each setting makes it Custom; full trust is seen in the control; Escape closes the panel."""
    side = begin(lab, "custom.ipynb")
    panel = side.custom()
    panel.get_by_role("combobox", name="Kernel").select_option("look")
    expect(side.freedom).to_have_text("Custom", timeout=PATIENCE_MS)
    panel.get_by_role("textbox", name="Files, with * and **").fill("data/**")
    panel.get_by_role("button", name="Add").click()
    expect(panel.get_by_role("button", name="Remove data/**")).to_be_visible(timeout=PATIENCE_MS)
    look(lab, side, "custom", side.custom)
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


def test_a_grant_is_listed_in_two_windows_and_revoked_in_both(
    lab: Lab, open_lab: Callable[[], Lab], kernelspecs: Path
) -> None:
    """The other window's list follows by itself, and the agent asks again."""
    side = begin(lab, "grants.ipynb")
    lab.save()
    window = open_lab()
    window.open("grants.ipynb")
    other = Side(window.page)
    other.open()
    other.expect_chat()
    for scope in ("this conversation", "in this folder"):
        lab.page.bring_to_front()
        grant(side, scope)
        if scope == "in this folder":
            look(lab, side, "grants", side.custom)
        revoke(lab, side, other)
        side.chat.locator(".permission").get_by_role("button", name="Reject", exact=True).click()
        expect(side.chat.locator(".permission")).to_have_count(0, timeout=PATIENCE_MS)


def grant(side: Side, scope: str) -> None:
    """Allow *ls* in a scope, and see it in the list."""
    side.say("/run ls")
    card = side.chat.locator(".permission")
    more = card.get_by_role("button", name="More options")
    expect(more).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
    more.click()
    option = card.get_by_role("menuitem").filter(has_text=scope)
    expect(option).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
    option.click()
    expect(card).to_have_count(0, timeout=PATIENCE_MS)
    panel = side.custom()
    expect(panel.locator(".grant-text").first).to_contain_text("Tour may run ls …", timeout=PATIENCE_MS)


def revoke(lab: Lab, side: Side, other: Side) -> None:
    """Revoke it in the other window, see it gone in both, and be asked again."""
    panel = side.chat.get_by_role("dialog", name="Custom freedom")
    other.page.bring_to_front()
    there = other.custom()
    expect(there.locator(".grant-text")).to_have_count(1, timeout=PATIENCE_MS)
    there.get_by_role("button", name="Revoke").click()
    expect(there.get_by_role("status")).to_contain_text("Revoked.", timeout=PATIENCE_MS)
    expect(there.locator(".grant-text")).to_have_count(0, timeout=PATIENCE_MS)
    expect(panel.locator(".grant-text")).to_have_count(0, timeout=PATIENCE_MS)
    other.page.keyboard.press("Escape")
    lab.page.bring_to_front()
    panel.get_by_role("combobox", name="Kernel").press("Escape")
    expect(panel).to_have_count(0)
    side.say("/run ls")
    expect(side.chat.locator(".permission")).to_be_visible(timeout=PATIENCE_MS)
