"""The box first: from an empty JupyterLab to an answer, the agent pill, and errors on the way."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests import known_agent
from tests.browser.axe import serious
from tests.browser.chat import Chat
from tests.browser.conftest import KERNEL
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

MOST_CONTROLS = 8
CONTROLS = """view => [...view.shadowRoot.querySelectorAll(
  'button, select, textarea, input, summary, a[href], [role=tab]')]
  .filter((one) => !one.hidden && one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .map((one) => one.ariaLabel ?? one.textContent)"""
"""The visible controls."""
TURN_ENDS = "view => [...view.shadowRoot.querySelectorAll('.turn-end button')].length"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of a known agent that repeats its prompts; no other test runs it."""
    return known_agent.install(tmp_path_factory.mktemp("agent") / "prefix", "goose", "moody")


@pytest.fixture(scope="module", autouse=True)
def _equipped(kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory, program: Path) -> Iterator[None]:
    """The default kernel finds one real agent and no earlier conversation in these tests."""
    file = kernelspecs / "kernels" / KERNEL / "kernel.json"
    before = file.read_text(encoding="utf-8")
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "AGENTNB_DATA_DIR": str(tmp_path_factory.mktemp("data"))}
    file.write_text(json.dumps({**json.loads(before), "env": environment}), encoding="utf-8")
    yield
    file.write_text(before, encoding="utf-8")


def test_click_and_enter_get_an_answer_in_an_empty_jupyterlab(lab: Lab) -> None:
    """By the launcher's card, and by the sidebar's box, which opens a notebook."""
    side = Side(lab.page)
    lab.open_nothing()
    lab.page.locator(".jp-LauncherCard", has_text="Agent").wait_for(timeout=PATIENCE_MS)
    lab.page.locator(".jp-LauncherCard", has_text="Agent").click()
    side.box.wait_for(timeout=PATIENCE_MS)
    expect(side.box).to_be_focused(timeout=PATIENCE_MS)
    expect(lab.page.locator(".jp-Launcher")).to_have_count(0)
    expect(side.pill).to_have_text("goose")
    assert serious(lab.page) == []
    lab.picture("box-first")
    lab.page.keyboard.type("Hello from the card")
    lab.page.keyboard.press("Enter")
    assert Chat(side.session).answer() == "said Hello from the card"
    expect(side.box).to_be_focused()
    lab.clear()

    side.icon.click()
    expect(side.panel.get_by_role("textbox")).to_be_focused(timeout=PATIENCE_MS)
    lab.picture("box-without-notebook")
    lab.page.keyboard.type("Hello from the sidebar")
    lab.page.keyboard.press("Enter")
    assert Chat(side.session).answer() == "said Hello from the sidebar"
    expect(lab.panel).to_have_count(1)


def test_agent_pill_works_by_keyboard_and_chat_has_few_controls(lab: Lab) -> None:
    """Open, arrows, letters, Escape; another agent replaces an empty conversation; three conversations at rest."""
    lab.open("pill.ipynb", notebook("x = 1", kernel=KERNEL))
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    press = lab.page.keyboard.press
    side.pill.focus()
    press("Enter")
    agents = side.agents.get_by_role("group", name="Agents").get_by_role("button")
    expect(agents.nth(0)).to_be_focused(timeout=PATIENCE_MS)
    expect(agents).to_contain_text(["goose", "Tour", "Local model"])
    press("ArrowDown")
    expect(agents.nth(1)).to_be_focused()
    assert serious(lab.page) == []
    lab.picture("pill-open")
    press("Escape")
    expect(side.agents).to_have_count(0)
    expect(side.pill).to_be_focused()
    press("Enter")
    expect(agents.nth(0)).to_be_focused()
    lab.page.keyboard.type("tour")
    expect(agents).to_have_count(1)
    press("ArrowDown")
    press("Enter")
    expect(side.chat.get_by_role("tab", selected=True)).to_contain_text("Tour", timeout=PATIENCE_MS)
    expect(side.box).to_be_focused()
    expect(side.pill).to_contain_text("Tour")
    side.start("goose")
    expect(side.chat.get_by_role("tab")).to_have_count(1)
    for number in range(3):
        side.say(f"message {number}")
        expect(side.chat.get_by_role("tab", selected=True)).to_contain_text(f"message {number}", timeout=PATIENCE_MS)
        if number < 2:
            side.button("New conversation").click()
    expect(side.chat.get_by_role("tab")).to_have_count(3)
    assert Chat(side.session).answer() == "said message 2"
    side.resize(420)
    seen = side.chat.evaluate(CONTROLS)
    of_turn = side.chat.evaluate(TURN_ENDS)
    lab.picture("box-at-rest")
    assert len(seen) - of_turn <= MOST_CONTROLS, seen


def test_message_stays_in_the_box_when_the_agent_cannot_start(lab: Lab, program: Path) -> None:
    """The agent's program is missing at the first Enter; once it is back, Enter sends."""
    lab.open("failed.ipynb", notebook("x = 1", kernel=KERNEL))
    side = Side(lab.page)
    side.open()
    side.pill.wait_for(timeout=PATIENCE_MS)
    expect(side.pill).to_have_text("goose", timeout=PATIENCE_MS)
    away = program.rename(program.with_suffix(".away"))
    side.say("Do not lose this")
    side.expect_text("goose couldn't start")
    side.expect_text("Your message is still in the box")
    expect(side.box).to_have_value("Do not lose this")
    expect(side.chat.get_by_role("tab")).to_have_count(0)
    assert serious(lab.page) == []
    lab.picture("box-failed")
    away.rename(program)
    side.box.press("Enter")
    assert Chat(side.session).answer() == "said Do not lose this"
    expect(side.box).to_have_value("")


def test_fix_without_a_conversation_starts_the_default_agent(lab: Lab) -> None:
    """The bubble folds the agent's part; the title has the user's words; ``%agent`` works there."""
    lab.open("fix.ipynb", notebook("1 / 0", "%agent what is this?", kernel=KERNEL))
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
    side = Side(lab.page)
    lab.panel.get_by_role("button", name="Fix with agent").click()
    bubble = side.chat.locator(".user-message")
    expect(bubble.locator(".user-text").first).to_have_text("Fix the error in In [1]: @error:1", timeout=PATIENCE_MS)
    expect(bubble.get_by_text("Find the cause")).to_be_hidden()
    tab = side.chat.get_by_role("tab", selected=True)
    expect(tab).to_have_text("gooseFix the error in In [1]: @error:1")
    lab.picture("box-fix")
    bubble.get_by_text("Instructions for the agent").click()
    expect(bubble.get_by_text("Find the cause")).to_be_visible()
    lab.cell(1).run()
    lab.cell(1).expect_done()
    lab.cell(1).expect_static("what is this?")
