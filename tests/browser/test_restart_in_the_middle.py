"""A user's action during a kernel restart works, or visibly does not."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side
from tests.browser.test_permission_card import grant

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
"""Restarts the kernel and sends a message in the first writable box, or in the new kernel's box."""

REVOKE = """async (isFirst) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const root = document.querySelector(".agentnb-session:not(.lm-mod-hidden) .agentnb-view").shadowRoot;
  const revoke = [...root.querySelectorAll(".grants button")].find((one) => one.textContent === "Revoke");
  if (isFirst) revoke.click();
  const restarted = kernel.restart();
  if (!isFirst) revoke.click();
  await restarted;
}"""
"""Revokes the grant in the list and restarts the kernel, one right after the other."""


@pytest.mark.parametrize("in_new", [False, True])
def test_message_sent_during_a_restart_is_not_lost(lab: Lab, side: Side, in_new: bool) -> None:
    """Also in the new kernel's box at its first moment: the message goes to the reopened conversation."""
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
        message = side.chat.locator(".user-message", has_text=f"/say {word}")
        if in_new:
            expect(message).to_have_count(1)
        else:
            assert side.box.input_value() == f"/say {word}" or message.count() == 1
        side.box.fill("")


@pytest.mark.parametrize("is_first", [True, False])
def test_grant_list_is_correct_after_a_revoke_during_a_restart(lab: Lab, side: Side, is_first: bool) -> None:
    """The list and the agent's permissions agree."""
    lab.open("revoked.ipynb", notebook("x = 1", kernel="ipykernel7"))
    side.open()
    side.start()
    side.choose_freedom("Ask")
    grant(side, "in this folder")
    lab.page.evaluate(REVOKE, is_first)
    side.chat.locator(".user-message", has_text="/run ls").wait_for(timeout=PATIENCE_MS)
    panel = side.custom()
    listed, nothing = panel.locator(".grant-text"), panel.get_by_text("Nothing beyond its freedom.")
    listed.or_(nothing).wait_for(timeout=PATIENCE_MS)
    is_kept = listed.count() == 1
    lab.page.keyboard.press("Escape")
    side.say("/run ls")
    ran, card = side.chat.get_by_role("button", name="ls", exact=False), side.chat.locator(".permission")
    ran.or_(card).last.wait_for(timeout=PATIENCE_MS)
    expect(card).to_have_count(0 if is_kept else 1)
