"""Send a message at many moments around a restart of the kernel, and look whether one is lost.

A real JupyterLab, a real kernel, the tour as the agent. A message may be sent in the conversation, or stand in its box
again; it is lost where it is in neither, and astray where it is in another conversation. For developers: it takes about
ten seconds for each moment, and exits with an error if a message was lost or went astray.

Usage: ``python scripts/restart_messages.py [MOMENTS] [SEED]`` in a checkout, after ``make static``.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.benchmarks.browser import a_lab  # noqa: E402 - the checkout is not on the path before
from tests.browser.lab import PATIENCE_MS, Lab, notebook  # noqa: E402
from tests.browser.side import Side  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

LATEST_MS = 4_000
"""How long after the restart began a message is typed, at most; where there is no box then, in the next one."""
SOON_MS = 400
"""How long after the box of the new kernel has come, at most."""
SEND = """async ([text, after, inNew]) => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const view = () => document.querySelector(".agentnb-view")?.shadowRoot;
  const box = () => view()?.querySelector(".prompt textarea");
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const frame = () => new Promise(requestAnimationFrame);
  const old = box();
  const began = performance.now();
  void kernel.restart();
  if (inNew) while (!box() || box() === old || box().readOnly) await frame();
  await wait(after);
  while (!box() || box().readOnly) await frame();
  const area = box();
  area.focus();
  area.setRangeText(text, 0, area.value.length, "end");
  area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await frame();
  const now = box();
  now?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
  return { at: Math.round(performance.now() - began), inOld: now === old, isHeld: now?.form?.dataset.held === "true" };
}"""
"""Restarts the kernel, types and presses Enter; resolves to when that was."""


def main(moments: int, seed: int) -> int:
    """Try so many moments; returns how many messages were lost or went astray."""
    bad = 0
    with tempfile.TemporaryDirectory() as data:
        os.environ["AGENTNB_DATA_DIR"] = data
        with a_lab() as lab:
            lab.open("restarts.ipynb", notebook("x = 1", kernel="python3"))
            side = Side(lab.page)
            side.open()
            side.start()
            side.say("/say first")
            side.expect_answer("first")
            for number, (after, in_new) in enumerate(generated(moments, seed)):
                word = f"kept{number}"
                sent = lab.page.evaluate(SEND, [f"/say {word}", after, in_new])
                place = where(lab, side, word)
                print(f"{number:4} {after:5} ms {'new box' if in_new else 'restart'} {place:<12} {sent}", flush=True)
                bad += place not in {"conversation", "box"}
    return bad


def generated(moments: int, seed: int) -> Iterator[tuple[int, bool]]:
    """When to send: so long after what, the coming of the new box or the restart."""
    dice = random.Random(seed)  # noqa: S311 - the same moments for the same seed
    for number in range(moments):
        in_new = number % 2 == 1
        yield dice.randint(0, SOON_MS if in_new else LATEST_MS), in_new


def where(lab: Lab, side: Side, word: str) -> str:
    """Where the message is once all is quiet; the box is emptied for the next one."""
    expect(side.chat).to_be_visible(timeout=PATIENCE_MS)
    lab.expect_in_kernel("1", 1)
    expect(side.chat.locator(".answer").last).to_be_visible(timeout=PATIENCE_MS)
    expect(side.chat.locator("form[data-held='true']")).to_have_count(0, timeout=PATIENCE_MS)
    expect(side.chat.get_by_role("button", name="Stop", exact=True)).to_have_count(0, timeout=PATIENCE_MS)
    lab.page.wait_for_timeout(600)
    shown: Any = side.chat.locator(".user-message", has_text=word)
    box = side.box.input_value()
    side.box.fill("")
    tabs = side.chat.get_by_role("tab").count()
    if tabs > 1:
        return f"astray: {tabs} tabs"
    if shown.count() == 1:
        return "conversation"
    return "box" if word in box else "lost" if shown.count() == 0 else f"{shown.count()} times"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 40, int(sys.argv[2]) if sys.argv[2:] else 1) > 0)
