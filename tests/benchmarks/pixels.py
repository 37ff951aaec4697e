"""How long an agent's chunk takes to the screen: agent process → host → comm → page → the frame that shows it.

The agent writes the time of sending into each chunk; the page looks at every animation frame which of them it shows.
Both clocks are this machine's.
"""

from __future__ import annotations

import statistics
import sys

from playwright.sync_api import Page

from tests.benchmarks.browser import ROOT, a_lab
from tests.benchmarks.row import Row
from tests.browser.lab import Lab, notebook

COUNT, PAUSE_MS = 200, 30
LIMIT_P95_MS = 250.0
WATCH = r"""
() => {
  const seen = window.agentnbSeen = new Map();
  const read = (root) => {
    for (const found of root.textContent.matchAll(/⟨(\d+\.\d+)⟩/g)) {
      if (!seen.has(found[1])) seen.set(found[1], performance.timeOrigin + performance.now() - Number(found[1]));
    }
  };
  const tick = () => {
    for (const element of document.querySelectorAll('.jp-OutputArea-output *')) {
      if (element.shadowRoot) read(element.shadowRoot);
    }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
"""


def measure() -> list[Row]:
    """Stream stamped chunks into the chat of a real JupyterLab."""
    with a_lab() as lab:
        return _rows(_stream(lab))


def _stream(lab: Lab) -> list[float]:
    command = [sys.executable, str(ROOT / "tests/agents/clock.py")]
    start = f"import agentnb\nsession = agentnb.start(command={command!r})\nsession"
    lab.open("pixels.ipynb", notebook(start, f"await session.prompt('{COUNT} {PAUSE_MS}')", kernel="python3"))
    lab.cell(0).run()
    lab.cell(0).expect_done(1)
    lab.page.evaluate(WATCH)
    lab.cell(1).run()
    lab.cell(1).expect_done(2)
    return _seen(lab.page)


def _seen(page: Page) -> list[float]:
    page.wait_for_function(f"window.agentnbSeen.size >= {COUNT}")
    delays: list[float] = page.evaluate("[...window.agentnbSeen.values()]")
    return delays


def _rows(delays: list[float]) -> list[Row]:
    cuts = statistics.quantiles(delays, n=20)
    return [
        Row(what="an agent's chunk to its pixels, p50", value=statistics.median(delays), unit="ms"),
        Row(what="an agent's chunk to its pixels, p95", value=cuts[18], unit="ms", at_most=LIMIT_P95_MS),
    ]
