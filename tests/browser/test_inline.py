"""Help while the user types, in a real JupyterLab: an edit of one cell, completions, comments on lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.browser.test_sidebar_notebook7 import Classic
from tests.conftest import ROOT
from tests.unit.plugins.local.conftest import Models, models

__all__ = ["models"]

METADATA = "(key) => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(c => c.getMetadata(key))"


class Agent:
    """The agent of a notebook, which does what the test has written down."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def will(self, *steps: dict[str, Any]) -> None:
        """Do these in the next turns (tests/agents/calls_kernel.py)."""
        self.file.write_text(json.dumps(steps))

    def replaces(self, cell_id: str, source: str) -> None:
        """Call the tool for that."""
        self.will({"start": ["replace_cell", {"cell": cell_id, "source": source}]}, {"end": 1})

    @property
    def setup(self) -> str:
        """The code that starts it."""
        command = [str(ROOT / "tests/agents/calls_kernel.py"), str(self.file)]
        return f"import sys, agentnb\nsession = agentnb.start(command=[sys.executable, *{command}], title='Scribe')"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    agent = Agent(tmp_path / "steps.json")
    agent.will({"say": "Nothing."})
    return agent


def form(lab: Lab) -> Locator:
    """The box or the line of an edit or a comment, in a cell."""
    return lab.panel.locator(".agentnb-cell-form")


def opened(lab: Lab, name: str, agent: Agent, *cells: str) -> Any:
    """A notebook whose conversation has begun, and its document."""
    document = notebook(agent.setup, *cells, kernel="ipykernel7")
    lab.open(name, document)
    lab.run_cells(1)
    return document


def wish(lab: Lab, at: int, text: str) -> None:
    """Press the shortcut in a cell and say what is wanted, by keyboard."""
    lab.cell(at).focus()
    lab.page.keyboard.press("Control+k")
    expect(form(lab).locator("textarea")).to_be_focused()
    lab.page.keyboard.type(text)
    lab.page.keyboard.press("Enter")


def test_cell_is_edited_from_a_prompt_in_it_with_one_decision(lab: Lab, agent: Agent, kernelspecs: Path) -> None:
    """The agent's own change is the difference in the cell; code in an answer is put in and can be undone."""
    document = opened(lab, "edited.ipynb", agent, "a = 1\nprint(a)", "")
    lab.cell(1).run()
    lab.cell(1).expect_done(2)
    agent.replaces(document.cells[1].id, "a = 1\nprint(a + 10)")
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+k")
    expect(form(lab)).to_contain_text("Edit this cell")
    lab.picture("inline-prompt")
    assert serious(lab.page) == []
    lab.page.keyboard.press("Escape")
    expect(form(lab)).to_have_count(0)
    expect(lab.cell(1).locator.locator(".cm-content")).to_be_focused()
    wish(lab, 1, "add ten")
    bar = lab.panel.locator(".agentnb-cell-bar")
    expect(bar).to_have_count(1, timeout=PATIENCE_MS)
    expect(lab.cell(1).locator.locator(".agentnb-new-lines")).to_have_text("print(a + 10)")
    expect(form(lab)).to_be_hidden()
    expect(bar).to_have_attribute("data-armed", "true")
    lab.page.keyboard.press("Control+Alt+y")
    expect(bar).to_have_count(0, timeout=PATIENCE_MS)
    expect(form(lab)).to_have_count(0, timeout=PATIENCE_MS)
    assert sources(lab)[1:] == ["a = 1\nprint(a + 10)", ""]

    agent.will({"say": "Here:\n\n```python\nb = 2\n```\n"})
    wish(lab, 2, "make b")
    expect(bar).to_contain_text("Written by", timeout=PATIENCE_MS)
    lab.picture("inline-written")
    assert sources(lab)[2] == "b = 2"
    assert lab.page.evaluate(METADATA, "agentnb_prompt") == [None, None, None]
    expect(bar).to_have_attribute("data-armed", "true")
    lab.page.keyboard.press("Control+Alt+n")
    expect(bar).to_have_count(0, timeout=PATIENCE_MS)
    assert sources(lab)[2] == ""
    _prompt_stays_where_the_user_wants_it(lab)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    side.expect_text("[2] add ten")
    expect(side.chat.locator(".for-agent").first).not_to_have_attribute("open", "")


def _prompt_stays_where_the_user_wants_it(lab: Lab) -> None:
    lab.cell(0).write("agentnb.settings().set('provenance_in_notebook', True)")
    lab.cell(0).run()
    lab.cell(0).expect_done()
    wish(lab, 2, "make b  with key sk-ant-REDACTED")
    lab.page.wait_for_function(f"() => ({METADATA})('agentnb_prompt')[2]", timeout=PATIENCE_MS)
    saved = lab.page.evaluate(METADATA, "agentnb_prompt")[2]
    assert saved.startswith("make b with key ")
    assert "sk-ant" not in saved
    lab.cell(2).focus()
    lab.page.keyboard.press("Control+k")
    expect(form(lab).locator("textarea")).to_have_value(saved)
    lab.page.keyboard.press("Escape")
    lab.cell(0).write("agentnb.settings().reset('provenance_in_notebook')")
    lab.cell(0).run()
    lab.cell(0).expect_done()
    lab.page.keyboard.press("Control+Alt+Shift+y")


def test_what_goes_wrong_with_an_edit_is_said_in_the_cell(lab: Lab, agent: Agent, kernelspecs: Path) -> None:
    """A failed agent, an answer without code, a conflict, stop, a deleted cell, a busy kernel, a dead one."""
    opened(lab, "failing.ipynb", agent, "x = 1", "y = 2", "import time\nwhile True: time.sleep(.1)")
    agent.will({"fail": "The model is overloaded."})
    wish(lab, 1, "double it")
    expect(form(lab)).to_contain_text("failed:", timeout=PATIENCE_MS)
    expect(form(lab)).to_contain_text("The model is overloaded.")
    lab.picture("inline-failed")
    agent.will({"say": "It is fine as it is."})
    form(lab).get_by_role("button", name="Try again").click()
    expect(form(lab).locator("textarea")).to_have_value("double it")
    lab.page.keyboard.press("Enter")
    expect(form(lab)).to_contain_text("answered without changing this cell.", timeout=PATIENCE_MS)
    form(lab).get_by_role("button", name="Close").click()
    expect(form(lab)).to_have_count(0)

    fifo = agent.file
    fifo.unlink()
    __import__("os").mkfifo(fifo)  # the agent works until the test says what it does
    wish(lab, 1, "double it")
    expect(form(lab)).to_contain_text("is editing this cell…", timeout=PATIENCE_MS)
    lab.picture("inline-works")
    lab.cell(1).write("x = 3")
    agent.will({"say": "```\nx = 2\n```"})
    expect(form(lab)).to_contain_text("You changed this cell while", timeout=PATIENCE_MS)
    assert sources(lab)[1] == "x = 3"
    form(lab).get_by_role("button", name="Insert below").click()
    assert sources(lab)[1:4] == ["x = 3", "x = 2", "y = 2"]

    wish(lab, 3, "stop me")
    expect(form(lab)).to_contain_text("is editing this cell…", timeout=PATIENCE_MS)
    form(lab).get_by_role("button", name="Stop").click()
    expect(form(lab)).to_have_count(0)
    lab.expect_in_kernel("session.chat.turns[-1].state", "cancelled")
    agent.will({"say": "too late"})  # what it still reads
    wish(lab, 3, "delete me")
    expect(form(lab)).to_contain_text("…", timeout=PATIENCE_MS)
    lab.page.keyboard.press("Escape")
    lab.command("notebook:delete-cell")
    expect(lab.page.locator(".jp-toast-message, .Toastify__toast")).to_contain_text(
        "The cell was deleted, so its edit was stopped.", timeout=PATIENCE_MS
    )
    expect(form(lab)).to_have_count(0)
    lab.expect_in_kernel("session.chat.turns[-1].state", "cancelled")


def test_first_edit_of_a_notebook_starts_the_default_agent_or_says_what_is_missing(lab: Lab, kernelspecs: Path) -> None:
    """Quietly: the sidebar stays closed. Without a kernel it opens, and says what to do."""
    lab.open("first.ipynb", notebook("x = 1", kernel="ipykernel7"))
    wish(lab, 0, "double it")
    expect(form(lab)).to_contain_text("No agent is installed that could edit the cell.", timeout=PATIENCE_MS)
    expect(Side(lab.page).panel).to_be_hidden()
    form(lab).get_by_role("button", name="Close").click()
    lab.cell(0).write("import sys, agentnb\nagentnb.settings().set('agent', 'tour-like')")


@pytest.fixture
def completing(lab: Lab, models: Models, kernelspecs: Path) -> Iterator[Lab]:
    """A notebook in which the scripted model server completes."""
    url = models.url("ollama")
    settings = "agentnb.settings()"
    document = notebook(
        f"import agentnb\n{settings}.set('local_url', {url!r})\n{settings}.set('local_model', 'fills')\n"
        f"{settings}.set('completion', 'local')\nframe = 1.5",
        "# above\nlimit = 3",
        "",
        kernel="ipykernel7",
    )
    lab.open("completing.ipynb", document)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    lab.run_cells(1)
    yield lab
    reset = "; ".join(f"agentnb.settings().reset({name!r})" for name in ("completion", "local_url", "local_model"))
    lab.cell(0).write(reset)
    lab.cell(0).run()
    lab.cell(0).expect_done()


def test_completion_is_shown_as_ghost_text_and_dropped_when_it_comes_too_late(completing: Lab, models: Models) -> None:
    """Accepted with Tab; typing on cancels the request; so does the deletion of the cell; not while a cell runs."""
    lab = completing
    ghost = lab.page.locator(".jp-GhostText")
    lab.page.wait_for_function(
        "() => window.jupyterapp.serviceManager.settings.fetch('agentnb:plugin')"
        ".then(({ raw }) => raw.includes('completion'))",
        timeout=PATIENCE_MS,
    )
    lab.cell(2).focus()
    lab.page.keyboard.insert_text("# fills: total = frame\\nprint(total)\n")
    lab.page.keyboard.type("t")
    expect(ghost).to_contain_text("otal = frame", timeout=PATIENCE_MS)
