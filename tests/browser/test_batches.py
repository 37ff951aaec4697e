"""A batch in a real JupyterLab: its bar, its rows, and a row's conversation."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook

ASK = """import agentnb
inputs = ["/say Good.", "/fail", "/say Late, and the box was open.", "/fail"]
batch = agentnb.map("{input}", inputs, on_error="keep", retries=0, concurrency=2)"""

LATE = """from agentnb.server.comm import batch_model
module = batch_model.BatchModel._esm
batch_model.BatchModel._esm = "await new Promise((later) => setTimeout(later, 4000));\\n" + str(module)
"""
"""anywidget gives up a module that has not loaded after two seconds."""


def test_batch_row_opens_its_conversation_and_is_saved(lab: Lab) -> None:
    """Failures are grouped by reason, above the answers; the saved notebook has a table."""
    lab.open("batch.ipynb", notebook(ASK, kernel="ipykernel7"))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    cell.output.get_by_text("2 of 4 done · 2 failed").wait_for(timeout=PATIENCE_MS)
    expect(cell.output.locator("section h4").first).to_contain_text("2 failed: ", timeout=PATIENCE_MS)
    expect(cell.output.locator("section").nth(1).locator("li")).to_have_count(2, timeout=PATIENCE_MS)
    for theme, width in (("Dark", 320), ("Light", 1200)):
        lab.theme(f"JupyterLab {theme}")
        cell.output.evaluate("(output, width) => { output.style.maxWidth = `${width}px`; }", width)
        assert cell.output.locator(".agentnb-batch").evaluate("view => view.scrollWidth <= view.clientWidth")
        assert serious(lab.page) == []
        lab.picture(f"batch-rows-{theme.lower()}-{width}")
    row = cell.output.get_by_role("button", name="Late, and the box was open.")
    row.click()
    expect(row).to_have_attribute("aria-expanded", "true", timeout=PATIENCE_MS)
    opened = cell.output.locator(".agentnb-chat")
    opened.get_by_text("Late, and the box was open.", exact=True).first.wait_for(timeout=PATIENCE_MS)
    lab.picture("batch-conversation")
    row.click()
    expect(opened).to_have_count(0)

    saved = cell.output.locator(".agentnb-batch-saved")
    expect(saved.locator("tr", has_text="Late, and the box was open.")).to_have_count(1, timeout=PATIENCE_MS)
    expect(saved).to_be_hidden()
    lab.reopen()
    saved.wait_for(timeout=PATIENCE_MS)
    expect(saved.locator("p").first).to_contain_text("2 failed: ")
    expect(saved.locator("table").nth(1).locator("tbody tr")).to_have_count(2)
    expect(cell.output.get_by_text("2 of 4 done · 2 failed")).to_be_visible()
    message = cell.output.get_by_text("widget")
    expect(message).to_have_count(1)
    expect(message).to_be_hidden()
    lab.picture("batch-rows-saved")


def test_batch_rows_open_when_their_module_loads_late(lab: Lab) -> None:
    """The page requests the missed messages again."""
    lab.open("late-batch.ipynb", notebook("%load_ext agentnb\n" + LATE + ASK, kernel="ipykernel7"))
    cell = lab.cell(0)
    cell.run()
    cell.expect_done(1)
    row = cell.output.get_by_role("button", name="Late, and the box was open.")
    row.click()
    expect(row).to_have_attribute("aria-expanded", "true", timeout=PATIENCE_MS)
