"""The mark of a cell's author in a real JupyterLab: its text, its link, and the saved notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Locator, expect

from agentnb.plugins.provenance.cell_metadata import to_metadata
from agentnb.plugins.provenance.result import LineRange
from agentnb.plugins.provenance.turns import ProvenanceTurn
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
    return json.dumps([step for call in calls for step in ({"start": call}, {"end": 1})])


def marks(lab: Lab) -> Locator:
    return lab.panel.locator(".agentnb-author")


def card(lab: Lab) -> Locator:
    return lab.page.get_by_role("tooltip")


def test_author_mark_names_the_author_and_opens_the_turn(lab: Lab, kernelspecs: Path) -> None:
    """Hover, keyboard and click; the user's edits; a closed conversation; light and dark, wide and narrow."""
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
    side.say_and_wait(json.dumps([{"update": OPTIONS}, *json.loads(steps)]))
    side.say_and_wait(turn(["insert_cell", {"source": "total = x * 2", "below": document.cells[2].id}]))
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
    expect(card(lab).locator("p").last).to_have_text("edited by you since")  # and not verified any more
    lab.page.keyboard.press("Escape")
    expect(card(lab)).to_have_count(0)
    side.chat.get_by_role("tab").first.focus()
    lab.page.keyboard.press("Delete")
    expect(side.chat.locator(".turn")).to_have_count(0)
    first.focus()
    lab.page.keyboard.press("Enter")
    view = side.chat.locator(".turn").first
    expect(view).to_be_in_viewport(timeout=PATIENCE_MS)
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


TAKEN = "total = sum(range(100))\nprint(total)"
REPLACING = "import math\nx = math.sqrt(2)"


def test_code_inserted_from_an_answer_is_marked_as_the_agents(lab: Lab, kernelspecs: Path) -> None:
    """*Insert below* and *Replace the active cell*; in a new kernel, the log knows the author."""
    del kernelspecs
    setup = f"{SETUP}\nagentnb.settings().set('provenance_in_notebook', False)"
    document = notebook(setup, "import math\nx = 1", kernel="ipykernel7")
    lab.open("taken.ipynb", document)
    lab.run_cells(1)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    for code in (TAKEN, REPLACING):
        side.say_and_wait(json.dumps([{"say": f"Like this:\n\n```python\n{code}\n```\n"}]))
    expect(side.chat.locator(".turn .code")).to_have_count(2, timeout=PATIENCE_MS)
    lab.cell(1).focus()
    side.button("Insert below the active cell").first.click(timeout=PATIENCE_MS)
    expect(marks(lab)).to_have_count(1, timeout=PATIENCE_MS)
    lab.cell(1).focus()
    side.button("Replace the active cell").last.click()
    expect(marks(lab)).to_have_count(2, timeout=PATIENCE_MS)
    _cards_name_the_turns(lab)
    lab.reopen()
    expect(marks(lab)).to_have_count(2, timeout=PATIENCE_MS)
    expect(side.chat).to_have_count(0)
    assert "agentnb" not in json.dumps(lab.saved("taken.ipynb")["cells"][1:])
    _cards_name_the_turns(lab)
    lab.picture("provenance-before-chat")


def _cards_name_the_turns(lab: Lab) -> None:
    """The first marked cell has a line of the user and one of the second turn, the other cell the first turn's."""
    for mark, number in ((marks(lab).first, 2), (marks(lab).last, 1)):
        expect(mark.locator("i")).to_have_count(1)
        mark.hover()
        expect(card(lab)).to_contain_text(f"turn {number}: “[{{", timeout=PATIENCE_MS)
        lab.page.keyboard.press("Escape")


def test_saved_author_marks_show_without_a_kernel(lab: Lab) -> None:
    """A cell with unchanged lines, one edited since, and invalid metadata, which marks nothing."""
    document = notebook(TAKEN, f"{TAKEN}\nx = 1", "y = 2", kernel="nothing")
    document.metadata["kernelspec"]["language"] = "nothing"
    turn = ProvenanceTurn(session="claude:/0f3a91c2d4", turn="77b01d4e00", agent="claude", model="sonnet-5")
    saved = to_metadata(TAKEN, [LineRange(1, 2, 0)], [turn])
    for cell, key in zip(document.cells, (saved, saved.replace(" 1-2 ", " 1-3 "), f"{saved} <b>"), strict=True):
        cell.metadata["agentnb"] = key
    nbformat.write(document, lab.server.folder / "said.ipynb")
    lab.page.goto(f"{lab.server.url}/lab/workspaces/said/tree/said.ipynb?token=browser-tests&reset")
    lab.page.get_by_role("dialog").get_by_role("button", name="No Kernel").click(timeout=PATIENCE_MS)
    expect(marks(lab)).to_have_count(2, timeout=PATIENCE_MS)
    assert lab.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session") is None
    marks(lab).first.hover()
    expect(card(lab)).to_contain_text("claude · sonnet-5 · as the notebook says", timeout=PATIENCE_MS)
    assert "edited" not in card(lab).inner_text()
    lab.page.keyboard.press("Escape")
    marks(lab).last.hover()
    expect(card(lab).locator("p").last).to_have_text("edited by you since")
    lab.picture("provenance-without-kernel")
    lab.page.keyboard.press("Escape")
    lab.cell(0).write(f"# mine\n{TAKEN}")
    marks(lab).first.hover()
    expect(card(lab).locator("p").last).to_have_text("edited by you since", timeout=PATIENCE_MS)


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
