"""Messages that are sent while the kernel restarts: none is lost, none goes astray."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PATIENCE_MS, Lab, notebook
from tests.browser.side import Side

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
