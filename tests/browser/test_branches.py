"""Tries side by side in a real JupyterLab: in the cell, and in the chat, where they are stopped and discarded."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.rehearsal_here import needs_namespaces

pytestmark = needs_namespaces
AGENTS = Path(__file__).parents[1] / "agents"
PROGRAM = [sys.executable, str(AGENTS / "calls_kernel.py")]
SETUP = f"""import agentnb, json, pathlib, pandas as pd
from IPython.display import Image
figure = str(pathlib.Path(agentnb.__file__).parent / "plugins/eliza/chart.png")
score, df = 0.5, pd.DataFrame({{"day": [1, 2, 3], "sales": [4.0, 2.0, None]}})
pathlib.Path("features.py").write_text("SCALE = 1\\n\\n\\ndef scaled(x):\\n    return SCALE * x\\n")
def agent(name, says, *calls):
    steps = [step for call in calls for step in ({{"start": call}}, {{"end": 1}})] + [{{"say": says}}]
    pathlib.Path(name + ".json").write_text(json.dumps(steps))
    return {{"command": [*{PROGRAM!r}, name + ".json"], "directories": [{str(AGENTS)!r}]}}
EDIT = "text = open('features.py').read().replace('SCALE = 1', 'SCALE = {{}}')\\nopen('features.py', 'w').write(text)"
AGENTS = [
    agent("a", "I scaled the sales.", ["run_code", {{"code": "score = 0.8\\n" + EDIT.format(2)}}]),
    agent("b", "I made the day a text.\\nThe score is better: <b>0.91</b>.",
          ["run_code", {{"code": "df['day'] = df['day'].astype(str)\\nscore = 0.91\\ndisplay(Image(figure))"}}],
          ["run_code", {{"code": EDIT.format(3)}}], ["insert_cell", {{"source": "df.describe()"}}]),
    agent("c", "I could not do it.",
          ["run_code", {{"code": "score = 0.4\\nopen('notes.txt', 'w').write('no gain')"}}],
          ["replace_cell", {{"cell": "now", "source": "score * 10"}}], ["run_cell", {{"cell": "now"}}],
          ["insert_cell", {{"source": "'nothing'"}}]),
]"""
BEGIN = 'tries = agentnb.branches("Improve the score", agents=AGENTS, measure="score")'
TALKS = f"session = agentnb.start(command={PROGRAM!r}, directories=[{str(AGENTS)!r}])"


def choose(card: Locator, item: str) -> None:
    """Choose in the menu of a try."""
    card.get_by_role("button", name=re.compile("^More for")).click()
    card.get_by_role("menuitem", name=item, exact=True).click()


def test_tries_stand_side_by_side_in_the_cell(lab: Lab) -> None:
    """With their measures, the best one, and the pictures that they showed; their cells ask nothing in the notebook."""
    document = notebook(SETUP, "score", BEGIN, kernel="ipykernel7")
    document.cells[1].id = "now"
    lab.open("branches.ipynb", document)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    lab.run_cells(3)
    cell = lab.cell(2)
    tries = cell.output.get_by_role("article")
    expect(tries).to_have_count(3, timeout=PATIENCE_MS)
    second = tries.nth(1)
    for card, measure in ((tries.nth(0), "0.8"), (second, "0.91"), (tries.nth(2), "0.4")):
        expect(card.locator(".try-measure")).to_have_text(measure, timeout=PATIENCE_MS)
    expect(second.get_by_text("Best", exact=True)).to_be_visible()
    expect(second).to_contain_text("The score is better: <b>0.91</b>.")
    expect(second.get_by_role("img", name="Output 1 of try 2")).to_be_visible(timeout=PATIENCE_MS)


def test_text_of_the_message_box_is_tried_three_ways(lab: Lab) -> None:
    """With the conversation's agent; they are stopped, looked into and discarded."""
    lab.open("ways.ipynb", notebook("import agentnb", TALKS, kernel="ipykernel7"))
    lab.run_cells(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.resize(420)
    menu = side.chat.get_by_role("button", name="Conversation", exact=True)
    menu.click()
    side.chat.get_by_role("menuitem", name=re.compile("^Try 3 ways")).click()
    expect(side.chat.get_by_text("Write in the message box what is to be tried")).to_be_visible(timeout=PATIENCE_MS)
    side.chat.get_by_role("button", name="Close (Escape)").click()
    code = "import time\nfound = 7\nwhile True: time.sleep(0.1)"
    side.box.fill(json.dumps([{"say": "I look."}, {"start": ["run_code", {"code": code}]}, {"end": 1}]))
    menu.click()
    side.chat.get_by_role("menuitem", name=re.compile("^Try 3 ways")).click()
    tries = side.chat.get_by_role("article")
    expect(tries).to_have_count(3, timeout=PATIENCE_MS)
    expect(tries.first).to_contain_text("I look.", timeout=PATIENCE_MS)
    for theme in ("Dark", "Light"):
        lab.theme(f"JupyterLab {theme}")
        assert serious(lab.page) == []
        lab.picture(f"branches-chat-{theme.lower()}")
    for index in range(3):
        tries.nth(index).get_by_role("button", name="Stop").press("Enter")
    keep = tries.nth(1).get_by_role("button", name="Keep Try 2")
    expect(keep).to_be_enabled(timeout=PATIENCE_MS)
    choose(tries.nth(0), "Open the conversation")
    expect(side.chat.get_by_role("tab", selected=True)).to_contain_text("Try 1", timeout=PATIENCE_MS)
    menu.click()
    side.chat.get_by_role("menuitem", name="Tries", exact=True).click()
    expect(tries).to_have_count(3, timeout=PATIENCE_MS)
    choose(tries.nth(0), "Discard")
    expect(tries).to_have_count(2, timeout=PATIENCE_MS)
    choose(tries.nth(0), "Discard all")
    expect(side.chat.get_by_text("All were discarded.")).to_be_visible(timeout=PATIENCE_MS)
    expect(side.chat.get_by_role("tab")).to_have_count(1, timeout=PATIENCE_MS)
