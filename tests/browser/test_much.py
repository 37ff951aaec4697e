"""Much of everything in a real JupyterLab: 40 agents and an agent with 200 models, at 420 and 300 pixels."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from agentnb.folders import config_folder
from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.browser.test_sidebar import CUT_OFF
from tests.conftest import ROOT

AGENTS = 40
SCROLLS_SIDEWAYS = """(pop) => [pop, ...pop.querySelectorAll("*")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(one).overflowX))
  .map((one) => one.className)"""
"""What can be scrolled sideways."""
IN_SIGHT = """(one) => {
  const box = one.getBoundingClientRect(), pop = one.closest(".pill-pop").getBoundingClientRect();
  return box.top >= pop.top && box.bottom <= pop.bottom && box.left >= pop.left && box.right <= pop.right;
}"""


@pytest.fixture
def many(home: Path) -> Iterator[None]:
    """Forty agents of the user's, one of which has 200 models."""
    del home
    folder = config_folder() / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"many{number}.toml" for number in range(AGENTS)]
    for number, file in enumerate(files):
        script = "many_models.py" if number == AGENTS - 1 else "echo.py"
        command = json.dumps([sys.executable, str(ROOT / "tests/agents" / script)])
        title = f"Number {number} of the agents of a whole department"
        file.write_text(f'name = "many{number}"\ntitle = "{title}"\ncommand = {command}\n', encoding="utf-8")
    yield
    for file in files:
        file.unlink()


@pytest.mark.usefixtures("many")
def test_forty_agents_and_two_hundred_models_are_found_by_keyboard_and_none_is_cut(lab: Lab, side: Side) -> None:
    lab.open("much.ipynb", notebook("1", kernel="ipykernel7"))
    side.open()
    side.expect_chat()
    press, write = lab.page.keyboard.press, lab.page.keyboard.type
    pop = side.chat.locator(".pill-pop")
    agents = side.agents.get_by_role("group", name="Agents").get_by_role("button")
    focused = pop.locator(":focus")
    for width in (420, 300):
        side.resize(width)
        side.pill.focus()
        press("Enter")
        expect(agents.nth(AGENTS)).to_be_attached(timeout=PATIENCE_MS)
        expect(focused).to_have_count(1)
        press("ArrowDown")
        press("End")
        assert focused.evaluate(IN_SIGHT)
        press("Home")
        for _ in range(12):
            press("ArrowDown")
        assert focused.evaluate(IN_SIGHT)
        fits(lab, side, f"much-agents-{width}")
        write("number 39")
        expect(agents).to_have_count(1)
        press("ArrowDown")
        press("Enter")
        expect(side.chat.get_by_role("tab", selected=True)).to_contain_text("Number 39", timeout=PATIENCE_MS)
        expect(side.box).to_be_focused()
        chosen = f"model-{width // 3}"
        side.pill.focus()
        press("Enter")
        model = side.agents.get_by_role("button", name="Model: model-")
        expect(model).to_be_visible(timeout=PATIENCE_MS)
        model.scroll_into_view_if_needed()
        fits(lab, side, f"much-options-{width}")
        model.press("Enter")
        search = side.agents.get_by_role("searchbox", name="Search: Model")
        expect(search).to_be_focused()
        fits(lab, side, f"much-models-{width}")
        write(chosen)
        found = pop.locator(".long-choice .pop-item")
        expect(found).to_have_count(1)
        press("ArrowDown")
        expect(found).to_be_focused()
        press("Enter")
        expect(side.pill).to_contain_text(chosen, timeout=PATIENCE_MS)
        press("Escape")
        expect(side.pill).to_be_focused()
        side.say("Which?")
        side.expect_answer(f"{chosen}, 6 characters")
        side.button("New conversation").click()


def fits(lab: Lab, side: Side, name: str) -> None:
    """Nothing sticks out or is to be scrolled sideways, in light and dark; axe finds nothing."""
    pop = side.chat.locator(".pill-pop")
    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        lab.picture(f"{name}-{theme.lower()}")
        assert serious(lab.page) == []
    assert side.chat.evaluate(CUT_OFF) == []
    assert pop.evaluate(SCROLLS_SIDEWAYS) == []
