"""Help during typing in a real JupyterLab: an edit of one cell, completions, comments on lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import completing
from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side, sources
from tests.browser.test_sidebar_notebook7 import Classic
from tests.conftest import ROOT
from tests.unit.plugins.local.conftest import Models, models

__all__ = ["models"]

SECRET = "ghp_" + "a1B2" * 9
METADATA = "(key) => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.map(c => c.getMetadata(key))"


class Agent:
    """A notebook's agent, which follows the test's script."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def will(self, *steps: dict[str, Any]) -> None:
        """Set the next turns' steps (tests/agents/calls_kernel.py)."""
        self.file.write_text(json.dumps(steps))

    def replaces(self, cell_id: str, source: str) -> None:
        self.will({"start": ["replace_cell", {"cell": cell_id, "source": source}]}, {"end": 1})

    @property
    def setup(self) -> str:
        command = [str(ROOT / "tests/agents/calls_kernel.py"), str(self.file)]
        return f"import sys, agentnb\nsession = agentnb.start(command=[sys.executable, *{command}], title='Scribe')"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    agent = Agent(tmp_path / "steps.json")
    agent.will({"say": "Nothing."})
    return agent


def form(lab: Lab) -> Locator:
    """The form of an edit or a comment in a cell."""
    return lab.panel.locator(".agentnb-cell-form")


def opened(lab: Lab, name: str, agent: Agent, *cells: str) -> Any:
    """Opens a notebook, starts its session; returns the document."""
    document = notebook(agent.setup, *cells, kernel="ipykernel7")
    lab.open(name, document)
    lab.run_cells(1)
    return document


def wish(lab: Lab, at: int, text: str) -> None:
    """Presses the shortcut in a cell and types a prompt."""
    lab.cell(at).focus()
    lab.page.keyboard.press("Control+k")
    expect(form(lab).locator("textarea")).to_be_focused()
    lab.page.keyboard.type(text)
    lab.page.keyboard.press("Enter")


def test_prompt_in_a_cell_edits_it_with_one_decision(lab: Lab, agent: Agent, kernelspecs: Path) -> None:
    """The agent's own change is the cell's difference; code from an answer is inserted and can be undone."""
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
    wish(lab, 2, f"make b  with key {SECRET}")
    lab.page.wait_for_function(f"() => ({METADATA})('agentnb_prompt')[2]", timeout=PATIENCE_MS)
    saved = lab.page.evaluate(METADATA, "agentnb_prompt")[2]
    assert saved.startswith("make b with key ")
    assert SECRET not in saved
    lab.cell(2).focus()
    lab.page.keyboard.press("Control+k")
    expect(form(lab).locator("textarea")).to_have_value(saved)
    lab.page.keyboard.press("Escape")
    lab.cell(0).write("agentnb.settings().reset('provenance_in_notebook')")
    lab.cell(0).run()
    lab.cell(0).expect_done()
    lab.page.keyboard.press("Control+Alt+Shift+y")


def test_cell_shows_why_an_edit_failed(lab: Lab, agent: Agent, kernelspecs: Path) -> None:
    """A failed agent, an answer without code, a conflict, stop, a deleted cell."""
    opened(lab, "failing.ipynb", agent, "x = 1", "y = 2")
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

    agent.file.unlink()
    os.mkfifo(agent.file)  # the agent works until the test sends its answer
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
    agent.will({"say": "too late"})  # the cancelled turn still reads this
    wish(lab, 3, "delete me")
    expect(form(lab)).to_contain_text("…", timeout=PATIENCE_MS)
    lab.page.keyboard.press("Escape")
    lab.command("notebook:delete-cell")
    expect(form(lab)).to_have_count(0)
    lab.command("apputils:display-notifications")
    notice = lab.page.locator(".jp-Notification-List").get_by_text("The cell was deleted, so its edit was stopped.")
    notice.first.wait_for(timeout=PATIENCE_MS)
    expect(form(lab)).to_have_count(0)
    lab.expect_in_kernel("session.chat.turns[-1].state", "cancelled")


def test_first_edit_starts_the_default_agent_or_reports_none(
    open_lab: Callable[[], Lab], models: Models, kernelspecs: Path, tmp_path: Path
) -> None:
    """Without the sidebar. The kernel has separate files: the last used agent is the default."""
    spec = json.loads((kernelspecs / "kernels/ipykernel7/kernel.json").read_text("utf-8"))
    spec["env"] = {f"AGENTNB_{each}_DIR": str(tmp_path / each) for each in ("CONFIG", "DATA")}
    (kernelspecs / "kernels/apart").mkdir()
    (kernelspecs / "kernels/apart/kernel.json").write_text(json.dumps(spec), "utf-8")
    chosen = "import agentnb\nsettings = agentnb.settings()"
    for name, value in (("local_url", models.url("ollama")), ("agent", "local")):
        chosen += f"\nsettings.set({name!r}, {value!r}, here=True)"  # JupyterLab would keep a value from a file
    lab = open_lab()  # a new page, which knows that kernel
    lab.open("first.ipynb", notebook("x = 1", chosen, kernel="apart"))
    wish(lab, 0, "double it")
    expect(form(lab)).to_contain_text("No installed agent can edit the cell.", timeout=PATIENCE_MS)
    form(lab).get_by_role("button", name="Close").click()
    lab.cell(1).run()
    lab.cell(1).expect_done(1)
    wish(lab, 0, "double it")
    expect(form(lab)).to_contain_text("would change nothing in this cell.", timeout=PATIENCE_MS)  # the model echoes
    expect(Side(lab.page).panel).to_be_hidden()
    host = "__import__('agentnb.host', fromlist=['current_host']).current_host()"
    lab.expect_in_kernel(f"[each.spec.name for each in {host}.conversations.values()]", ["local"])


def test_edit_waits_for_a_busy_kernel_and_shows_why(lab: Lab, kernelspecs: Path, tmp_path: Path) -> None:
    """On a kernel without subshells."""
    if not (kernelspecs / "kernels/ipykernel6").exists():
        pytest.skip("no ipykernel6: `make test-kernel` makes it")
    done = tmp_path / "done"
    waits = f"import pathlib, time\nwhile not pathlib.Path({str(done)!r}).exists(): time.sleep(.01)"
    lab.open("busy.ipynb", notebook(waits, "x = 1", kernel="ipykernel6"))
    lab.cell(0).run()
    lab.cell(0).expect_running()
    wish(lab, 1, "double it")
    expect(form(lab)).to_contain_text(
        "The kernel is busy. The edit starts when the kernel is free.", timeout=PATIENCE_MS
    )
    done.touch()
    expect(form(lab)).to_contain_text("No installed agent can edit the cell.", timeout=PATIENCE_MS)


def comment(lab: Lab, at: int, text: str, *keys: str) -> None:
    """Comments on a line of a cell by keyboard: *keys* go there from the first line."""
    lab.cell(at).focus()
    for key in ("Control+Home", *keys, "Control+Alt+m"):
        lab.page.keyboard.press(key)
    expect(form(lab).locator("textarea")).to_be_focused()
    lab.page.keyboard.type(text)
    lab.page.keyboard.press("Enter")
    expect(form(lab)).to_have_count(0)


def test_line_comments_survive_a_reload_and_are_sent(lab: Lab, agent: Agent, kernelspecs: Path) -> None:
    """Added, edited, removed by keyboard; a changed line is marked; the message has cell, lines and code."""
    opened(lab, "commented.ipynb", agent, "a = 1\nb = 2\nprint(a)", "c = 3", "d = 4")
    lab.cell(1).run()
    lab.cell(1).expect_done(2)
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    marks = lab.panel.locator(".agentnb-comment-mark")
    chip = side.chat.locator(".mentioned .mention-chip")
    comment(lab, 1, "why two?", "ArrowDown")
    expect(marks).to_have_count(1)
    expect(chip).to_have_text("1 comment on [2]")
    comment(lab, 2, "and this", "Shift+End")
    expect(chip).to_have_text("2 comments on [2], cell 3")
    comment(lab, 3, "not needed")
    lab.picture("inline-comments")
    lab.cell(1).focus()
    lab.page.keyboard.press("Control+Home")
    lab.page.keyboard.type("import math\n")  # the comment follows its line
    lab.page.keyboard.press("ArrowDown")
    lab.page.keyboard.press("Control+Alt+m")
    expect(form(lab)).to_contain_text("Comment on line 3")
    expect(form(lab).locator("textarea")).to_have_value("why two?")
    assert serious(lab.page) == []
    lab.page.keyboard.type("why not three?")
    lab.page.keyboard.press("Enter")
    lab.cell(2).write("c = 33")
    lab.save()
    _comments_are_listed_after_a_reload(lab, side)
    side.say("See my comments.")
    expect(chip).to_have_count(0, timeout=PATIENCE_MS)
    expect(marks).to_have_count(0)
    side.expect_text("2 comments on [2], cell 3")
    message = "session.chat.turns[-1].message.attachments[0].model_representation"
    lab.expect_in_kernel(f"'line 3:' in {message} and '> b = 2' in {message}", value=True)
    lab.expect_in_kernel(f"'The line has changed since. There is now:' in {message}", value=True)
    assert "agentnb" not in json.dumps([cell["metadata"] for cell in lab.saved("commented.ipynb")["cells"]])


def _comments_are_listed_after_a_reload(lab: Lab, side: Side) -> None:
    marks = lab.panel.locator(".agentnb-comment-mark")
    chip = side.chat.locator(".mentioned .mention-chip")
    lab.reload()
    side.expect_chat()
    expect(chip).to_have_text("3 comments on [2], cell 3, cell 4", timeout=PATIENCE_MS)
    expect(marks).to_have_count(3, timeout=PATIENCE_MS)
    chip.click()
    rows = side.chat.get_by_role("region", name="Comments").get_by_role("listitem")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("[2], line 3: why not three?")
    expect(rows.nth(1)).to_contain_text("The line has changed since.")
    assert serious(lab.page) == []
    lab.picture("inline-comments-list")
    lab.theme("JupyterLab Dark")
    lab.picture("inline-comments-dark")
    rows.nth(2).get_by_role("button", name="Remove").press("Enter")
    expect(rows).to_have_count(2)
    rows.nth(0).get_by_role("button", name="why not three?").click()
    expect(form(lab).locator("textarea")).to_be_focused(timeout=PATIENCE_MS)
    lab.page.keyboard.press("Escape")


MANY = """() => {
  const cells = window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.slice(1);
  const comments = Array.from({ length: 1000 }, (_, index) => ({
    id: `c${index}`, cellId: cells[index % cells.length].id, first: 1 + Math.floor(index / cells.length) % 20,
    last: 1, quote: `line_${Math.floor(index / cells.length) % 20} = 1`, text: `Comment ${index}` }));
  sessionStorage.setItem("agentnb comments many.ipynb", JSON.stringify(comments));
}"""


def test_page_shows_and_sends_a_thousand_comments(lab: Lab, agent: Agent, kernelspecs: Path) -> None:
    """Fifty are listed, each line has one mark, and all go with one message."""
    cell = "\n".join(f"line_{number} = 1" for number in range(20))
    opened(lab, "many.ipynb", agent, *[cell] * 25)
    lab.save()
    lab.page.evaluate(MANY)
    lab.reload()
    side = Side(lab.page)
    side.open()
    side.expect_chat()
    chip = side.chat.locator(".mentioned .mention-chip")
    expect(chip).to_contain_text("1,000 comments on cell 2, cell 3, cell 4, cell 5 and 21 more", timeout=PATIENCE_MS)
    expect(lab.cell(1).locator.locator(".agentnb-comment-mark")).to_have_count(20, timeout=PATIENCE_MS)
    chip.click()
    rows = side.chat.get_by_role("region", name="Comments").get_by_role("listitem")
    expect(rows).to_have_count(50)
    side.chat.get_by_role("button", name="Show 50 more of 950").click()
    expect(rows).to_have_count(100)
    lab.cell(1).write("other = 2")
    expect(lab.cell(1).locator.locator(".agentnb-comment-mark[data-changed=true]")).to_have_count(1)
    side.say("See my comments.")
    expect(chip).to_have_count(0, timeout=PATIENCE_MS)
    text = "session.chat.turns[-1].message.attachments[0].model_representation"
    lab.expect_in_kernel(f"{text}.count('Comment: Comment')", 1_000)


@pytest.fixture
def completes(lab: Lab, models: Models, kernelspecs: Path) -> Iterator[Lab]:
    """A notebook with a model's completions."""
    completing.begin(lab, "completed.ipynb", models.url("ollama"), "", "", kernel="ipykernel7")
    yield lab
    completing.end(lab)


def test_tab_accepts_grey_completion_and_typing_cancels_it(completes: Lab, models: Models) -> None:
    """In JupyterLab's inline completer; deleting the cell ends the request to the model."""
    lab, grey = completes, completes.page.locator(".jp-GhostText")
    lab.cell(1).write("# fills: total = 1\n")
    lab.page.keyboard.type("x")
    expect(grey).to_have_text("total = 1")
    lab.picture("inline-completion")
    lab.page.keyboard.press("Tab")
    expect(grey).to_have_count(0)
    assert sources(lab)[1] == "# fills: total = 1\nxtotal = 1"

    lab.cell(1).write("# fills: ...\n")
    lab.page.keyboard.type("x")
    models.until_begun()
    lab.page.keyboard.type("y")
    models.until_left()  # the new letter ends the earlier request
    expect(grey).to_have_count(0)

    models.until_begun()
    lab.command("notebook:delete-cell")
    models.until_left()
    expect(lab.panel.locator(".jp-CodeCell")).to_have_count(2)
    expect(grey).to_have_count(0)
    assert sources(lab)[1:] == [""]


@pytest.mark.notebook7
def test_edit_and_comment_work_in_notebook_7(lab: Lab, agent: Agent, kernelspecs: Path) -> None:
    """By keyboard; the sidebar is closed at first."""
    classic = Classic(lab)
    document = notebook(agent.setup, "a = 1", kernel="ipykernel7")
    classic.open("inline-classic.ipynb", *[cell["source"] for cell in document.cells])
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
    agent.will({"say": "```\na = 2\n```"})
    wish(lab, 1, "make it two")
    bar = lab.panel.locator(".agentnb-cell-bar")
    expect(bar).to_contain_text("Written by", timeout=PATIENCE_MS)
    expect(bar).to_have_attribute("data-armed", "true")
    lab.page.keyboard.press("Control+Alt+y")
    expect(bar).to_have_count(0, timeout=PATIENCE_MS)
    comment(lab, 1, "why?")
    lab.picture("inline-notebook7")
    classic.button.click()
    classic.side.expect_chat()
    expect(classic.side.chat.locator(".mentioned .mention-chip")).to_contain_text("1 comment on", timeout=PATIENCE_MS)
