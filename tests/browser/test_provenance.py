"""The mark of who wrote a cell, in a real JupyterLab: what it says, where it leads, what is saved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.browser.test_verify import VERIFIED, toolbar
from tests.conftest import ROOT

SETUP = f"""import sys, agentnb
agent = [sys.executable, {str(ROOT / "tests/agents/calls_kernel.py")!r}]
session = agentnb.start(command=agent, title="Analyst", freedom="auto")"""
MODEL = {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "pensive-2"}
OPTIONS = {"sessionUpdate": "config_option_update", "configOptions": [{**MODEL, "options": [{"value": "pensive-2"}]}]}
METADATA = (
    "window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map((cell) => cell.getMetadata('agentnb'))"
)


def turn(*calls: list[Any]) -> str:
    """A prompt that makes the agent call tools."""
    return json.dumps([step for call in calls for step in ({"start": call}, {"end": 1})])


def marks(lab: Lab) -> Locator:
    return lab.panel.locator(".agentnb-author")


def card(lab: Lab) -> Locator:
    return lab.page.get_by_role("tooltip")


def test_mark_says_who_wrote_the_lines_and_leads_to_the_turn(lab: Lab, kernelspecs: Path) -> None:
    """Hover, keyboard and click; edits of the user; a conversation that was closed; light and dark, wide and narrow."""
    document = notebook(SETUP, "import math\nx = 1", "print(x)", kernel="ipykernel7")
    document.cells[0].metadata["tags"] = ["skip-execution"]
    lab.open("written.ipynb", document)
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    expect(marks(lab)).to_have_count(0)
    replaced = "import math\nx = 1\nfor n in range(10):\n    x = x + math.sqrt(n)\n\nprint(x)"
    steps = turn(["cells", {}], ["replace_cell", {"cell": document.cells[1].id, "source": replaced}])
    side.say(json.dumps([{"update": OPTIONS}, *json.loads(steps)]))
    side.say(turn(["insert_cell", {"source": "total = x * 2", "below": document.cells[2].id}]))
    side.say(turn(["insert_cell", {"source": "# Result\n\nThe mean is finite.", "cell_type": "markdown"}]))
    expect(marks(lab)).to_have_count(3, timeout=PATIENCE_MS)
    first = marks(lab).first
    expect(first.locator("i")).to_have_count(1)
    lab.picture("provenance-at-rest")
    first.hover()
    expect(card(lab)).to_contain_text("python · pensive-2 · turn 1: “[{", timeout=PATIENCE_MS)
    assert "edited" not in card(lab).inner_text()
    assert "verified" not in card(lab).inner_text()
    lab.picture("provenance-hover")
    _card_says_when_it_was_verified(lab)

    lab.cell(1).write(replaced.replace("sqrt(n)", "sqrt(n + 1)"))
    lab.page.mouse.move(600, 10)
    expect(first.locator("i")).to_have_count(2, timeout=PATIENCE_MS)
    lab.page.keyboard.press("Escape")
    lab.command("agentnb:who-wrote-this")
    expect(first).to_be_focused()
    expect(card(lab).locator("p").last).to_have_text("edited by you since")  # and not verified as it is now
    lab.page.keyboard.press("Escape")
    expect(card(lab)).to_have_count(0)
    side.chat.get_by_role("tab").first.focus()
    lab.page.keyboard.press("Delete")
    expect(side.chat.locator(".turn")).to_have_count(0)
    first.focus()
    lab.page.keyboard.press("Enter")
    shown = side.chat.locator(".turn").first
    expect(shown).to_be_in_viewport(timeout=PATIENCE_MS)
    assert serious(lab.page) == []
    lab.theme("JupyterLab Dark")
    marks(lab).nth(1).hover()
    expect(card(lab)).to_be_visible()
    lab.picture("provenance-dark")
    side.resize(700)
    lab.page.keyboard.press("Escape")
    marks(lab).nth(1).hover()
    lab.picture("provenance-narrow")
    _metadata_says_it_once_the_setting_is_on(lab)


def _card_says_when_it_was_verified(lab: Lab) -> None:
    for at in (1, 2, 3):
        lab.cell(at).run()
        lab.cell(at).expect_done()
    mark = toolbar(lab)
    mark.main.click()
    mark.expect(VERIFIED)
    marks(lab).first.hover()
    expect(card(lab).locator("p").last).to_have_text(re.compile(r"^verified \d\d:\d\d$"), timeout=PATIENCE_MS)
    lab.picture("provenance-verified")


def _metadata_says_it_once_the_setting_is_on(lab: Lab) -> None:
    lab.cell(0).write("agentnb.settings().set('provenance_in_notebook', True)")
    lab.cell(0).run()
    lab.cell(0).expect_done()
    lab.cell(2).write("print(x)  # mine")
    lab.page.wait_for_function(f"() => {METADATA}.filter(Boolean).length === 3", timeout=PATIENCE_MS)
    lab.save()
    saved = [each["metadata"].get("agentnb", "") for each in lab.saved("written.ipynb")["cells"]]
    assert [re.sub(r" \S+/\S+ ([\d,-]+) \S+$", r" … \1", each).partition(" … ")[2] for each in saved] == [
        "",
        "3,6",
        "",
        "1",
        "1-3",
    ]
    assert "start" not in "".join(saved)
