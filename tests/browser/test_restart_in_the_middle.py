"""The kernel restarts in the middle of what takes a user some time: nothing is lost, and nothing is done unasked."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious
from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.browser.test_turn import SETUP, choose, does

MEGABYTE = 1_000_000
SEND = """async ([text, inNew]) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const box = () => document.querySelector(".agentnb-view")?.shadowRoot.querySelector(".prompt textarea");
  const old = box();
  void kernel.restart();
  while (!box() || box().readOnly || (inNew && box() === old)) await new Promise(requestAnimationFrame);
  box().focus();
  box().setRangeText(text, 0, box().value.length, "end");
  box().dispatchEvent(new InputEvent("input", { bubbles: true }));
  await new Promise(requestAnimationFrame);
  const asked = { key: "Enter", bubbles: true, cancelable: true };
  box()?.dispatchEvent(new KeyboardEvent("keydown", asked));
}"""
"""Restarts the kernel, and sends a message in the first box that takes it: at once, or in that of the new kernel."""
WAITS = """import pathlib, time
while not pathlib.Path("go").exists():
    time.sleep(0.05)
print("it went")"""


@pytest.mark.parametrize("in_new", [False, True])
def test_a_message_sent_around_a_restart_is_in_its_conversation_or_its_box(lab: Lab, side: Side, in_new: bool) -> None:
    """Also in the first moment in which the new kernel's box is there: it goes to the conversation that opens again."""
    lab.open("around.ipynb", notebook("x = 1", kernel="ipykernel7"))
    side.open()
    side.start()
    side.say("/say first")
    side.expect_answer("first")
    for word in ("one", "two", "three"):
        lab.page.evaluate(SEND, [f"/say {word}", in_new])
        side.expect_answer("first")
        expect(side.chat.locator("form[data-held='true']")).to_have_count(0, timeout=PATIENCE_MS)
        expect(side.chat.get_by_role("tab")).to_have_count(1)
        said = side.chat.locator(".user-message", has_text=f"/say {word}")
        if in_new:
            expect(said).to_have_count(1)
        else:
            assert side.box.input_value() == f"/say {word}" or said.count() == 1
        side.box.fill("")


def test_what_is_open_when_the_kernel_restarts_is_back_or_gone_and_changes_nothing(lab: Lab, side: Side) -> None:
    """A megabyte in the box, the question about a conflict, 500 changed files in review."""
    lab.open("middle.ipynb", notebook(SETUP, kernel="ipykernel7"))
    lab.run_cells(1)
    side.open()
    side.expect_chat()
    side.resize(420)
    file = lab.server.folder / "middle.txt"
    file.write_text("before\n")
    turn = does(side, "Write middle.txt new", "Wrote middle.txt.")
    expect(turn.get_by_role("button", name="Undo")).to_be_visible(timeout=PATIENCE_MS)
    file.write_text("mine\n")
    side.box.focus()
    lab.page.keyboard.insert_text("x" * MEGABYTE)
    choose(side, 0, "Go back to before this message")
    dialog = side.chat.get_by_role("alertdialog")
    dialog.get_by_role("button", name="Go back").click()
    expect(dialog.get_by_text("Nothing has changed yet.")).to_be_visible()
    lab.restart()
    side.expect_answer("Wrote middle.txt.")
    expect(dialog).to_have_count(0)
    expect(side.chat.locator(".turn")).to_have_count(1)
    assert file.read_text() == "mine\n"
    expect(side.box).to_be_editable(timeout=PATIENCE_MS)
    assert side.box.evaluate("(box) => box.value.length") == MEGABYTE
    side.box.fill("")
    a_review_of_five_hundred_files_is_of_no_kernel_any_more(lab, side)


def a_review_of_five_hundred_files_is_of_no_kernel_any_more(lab: Lab, side: Side) -> None:
    turn = does(side, "Many", "That was much.")
    turn.get_by_role("button", name="Review").click()
    review = lab.page.locator(".agentnb-review:visible")
    expect(review.locator(".cm-content").last).to_contain_text("0", timeout=PATIENCE_MS)
    lab.restart()
    side.expect_answer("That was much.")
    lab.picture("restarted-review")
    assert serious(lab.page) == []


def test_a_grant_that_is_revoked_while_its_command_runs_ends_with_that_command(lab: Lab, side: Side) -> None:
    """The command that runs goes on, the next one asks; so does one after a restart in the middle of a granted one."""
    lab.open("revoked.ipynb", notebook("x = 1", kernel="ipykernel7"))
    (lab.server.folder / "waits.py").write_text(WAITS)
    go = lab.server.folder / "go"
    side.open()
    side.start()
    card = side.chat.locator(".permission")
    for ending in ("revoke", "restart"):
        go.touch()
        side.say("/run python waits.py")
        more = card.get_by_role("button", name="More options")
        expect(more).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
        more.click()
        option = card.get_by_role("menuitem").filter(has_text="this conversation")
        expect(option).not_to_have_attribute("aria-disabled", "true", timeout=PATIENCE_MS)
        option.click()
        side.expect_text("it went")
        expect(side.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)
        go.unlink()
        side.say("/run python waits.py")
        expect(side.chat.locator(".tool").last).to_contain_text("waits.py", timeout=PATIENCE_MS)
        expect(card).to_have_count(0)
        if ending == "revoke":
            panel = side.custom()
            panel.get_by_role("button", name="Revoke").click()
            expect(panel.get_by_role("status")).to_contain_text("Revoked.", timeout=PATIENCE_MS)
            expect(panel.locator(".grant-text")).to_have_count(0, timeout=PATIENCE_MS)
            lab.picture("revoked-while-it-runs")
            lab.page.keyboard.press("Escape")
            go.touch()
            expect(side.button("Stop")).to_have_count(0, timeout=PATIENCE_MS)
            expect(side.chat.locator(".turn").last).not_to_contain_text("Stopped")
        else:
            lab.restart()
            expect(side.button("Send again")).to_be_visible(timeout=PATIENCE_MS)
            expect(side.custom().locator(".grant-text")).to_have_count(0)
            lab.page.keyboard.press("Escape")
        go.unlink(missing_ok=True)
        side.say("/run python waits.py")
        expect(card).to_be_visible(timeout=PATIENCE_MS)
        card.get_by_role("button", name="Reject", exact=True).click()
        expect(card).to_have_count(0, timeout=PATIENCE_MS)
