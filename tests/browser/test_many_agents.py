"""Forty agents, one with 200 models, in the agent pill of a real JupyterLab."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.chat import Chat
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.conftest import ROOT


def test_keyboard_finds_one_of_40_agents_and_one_of_200_models(lab: Lab, tmp_path: Path) -> None:
    """The list stays in the window, scrolls, and has a search; an unknown name gets a message."""
    agents = tmp_path / "agents"
    agents.mkdir()
    words = json.dumps([sys.executable, str(ROOT / "tests/agents/many_models.py")])
    for number in range(40):
        text = f'name = "own-{number}"\ntitle = "Own {number}"\ncommand = {words}\nrank = {number}\n'
        (agents / f"own-{number}.toml").write_text(text)
    setup = f"import os\nos.environ['AGENTNB_CONFIG_DIR'] = {str(tmp_path)!r}"
    lab.open("many-agents.ipynb", notebook(setup, kernel="ipykernel7"))
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.resize(420)
    keyboard = lab.page.keyboard
    side.pill.focus()
    keyboard.press("Enter")
    listed = side.agents.get_by_role("group", name="Agents").get_by_role("button")
    expect(listed.filter(has_text="Own")).to_have_count(40, timeout=PATIENCE_MS)
    box, height = side.agents.bounding_box(), lab.page.evaluate("innerHeight")
    assert box is not None
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= height
    assert serious(lab.page) == []
    lab.picture("many-agents")
    keyboard.type("nobody")
    expect(listed).to_have_count(0)
    for _ in "nobody":
        keyboard.press("Backspace")
    keyboard.type("own 39")
    expect(listed).to_have_count(1)
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(side.chat.get_by_role("tab", selected=True)).to_contain_text("Own 39", timeout=PATIENCE_MS)
    side.say("Hi")
    assert Chat(side.session).answer() == "model-0, 2 characters"
    side.pill.click()
    lab.picture("many-models")
    side.agents.get_by_role("button", name="Model: model-0").click()
    keyboard.type("model-150")
    lab.picture("many-models-searched")
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    keyboard.press("Escape")
    side.say("Hi")
    side.expect_answer("model-150, 2 characters")
