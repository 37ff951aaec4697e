"""Cost of the chat in the page: its main thread while an answer streams, bursts, long conversations, two views, size.

Chromium counts the busy time of the page's main thread (``Performance.getMetrics``); JupyterLab's own work is part
of it.
"""

from __future__ import annotations

import gzip
import sys
import time
from typing import Any

from playwright.sync_api import CDPSession

from tests.benchmarks.browser import ROOT, a_lab
from tests.benchmarks.row import Row
from tests.browser.lab import PATIENCE_MS, Lab, notebook

PER_SECOND, SECONDS = 200, 8
SHARE, SHARE_OF_TWO = 30.0, 45.0
BURSTS = {2_000: 5.0, 20_000: 30.0}
TURNS, OPENING_MS = 1_000, 2_000.0
BUNDLE_KB, BUNDLE_GZIPPED_KB = 320.0, 105.0
CLOCK = [sys.executable, str(ROOT / "tests/agents/clock.py")]
CELLS = [
    f"import agentnb\nsession = agentnb.start(command={CLOCK!r})\nother = agentnb.start()\nagentnb.chat(session)",
    "",  # the second view
    f"await session.prompt('{PER_SECOND * SECONDS} {1000 // PER_SECOND}')",
    "await other.prompt('/flood 2000')",
    "await other.prompt('/flood 20000')",
    f"for turn in range({TURNS}):\n    await other.prompt(f'/say This is **answer {{turn}}** of many.')",
    "agentnb.chat(other)",
]
DRAWN = """(words) => new Promise((resolve) => {
  const tick = () => {
    const roots = [...document.querySelectorAll('.agentnb-view')].map((host) => host.shadowRoot);
    if (roots.some((root) => root.textContent.includes(words))) requestAnimationFrame(() => resolve(performance.now()));
    else requestAnimationFrame(tick);
  };
  tick();
})"""


def measure() -> list[Row]:
    with a_lab() as lab:
        lab.open("page.ipynb", notebook(*CELLS, kernel="python3"))
        lab.page.set_default_timeout(4 * PATIENCE_MS)
        _run(lab, 0)
        page = lab.page.context.new_cdp_session(lab.page)
        page.send("Performance.enable")
        rows = [_share(lab, page, "200 chunks/s: share of the page's main thread", SHARE)]
        lab.cell(1).write("agentnb.chat(session)")
        _run(lab, 1)
        rows.append(_share(lab, page, "the same, in two views", SHARE_OF_TWO))
        rows += [_burst(lab, index, count) for index, count in zip((3, 4), BURSTS, strict=True)]
        rows.append(_long(lab))
    return [*rows, *_sizes()]


def _run(lab: Lab, index: int) -> float:
    """Runs a cell to its end; returns the seconds."""
    start = time.perf_counter()
    lab.cell(index).run()
    lab.expect_idle()
    lab.cell(index).expect_done()
    return time.perf_counter() - start


def _busy(page: CDPSession) -> float:
    metrics: list[dict[str, Any]] = page.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


def _share(lab: Lab, page: CDPSession, what: str, limit: float) -> Row:
    before, start = _busy(page), time.perf_counter()
    lab.cell(2).run()
    lab.page.wait_for_timeout(SECONDS * 1000)
    spent, took = _busy(page) - before, time.perf_counter() - start
    lab.expect_idle()
    return Row(what=what, value=100 * spent / took, unit="%", at_most=limit)


def _burst(lab: Lab, index: int, count: int) -> Row:
    return Row(what=f"a burst of {count:,} chunks, to its end", value=_run(lab, index), unit="s", at_most=BURSTS[count])


def _long(lab: Lab) -> Row:
    """Measures from the click to the last answer's pixels, with the kernel's round trip."""
    _run(lab, 5)
    cell = lab.cell(6)
    cell.focus()
    start = float(lab.page.evaluate("performance.now()"))
    lab.page.keyboard.press("Control+Enter")
    drawn = float(lab.page.evaluate(DRAWN, f"answer {TURNS - 1}"))
    return Row(what=f"opening a conversation of {TURNS:,} turns", value=drawn - start, unit="ms", at_most=OPENING_MS)


def _sizes() -> list[Row]:
    code = (ROOT / "agentnb/static/widget.js").read_bytes()
    minified, gzipped = len(code) / 1024, len(gzip.compress(code, 9)) / 1024
    return [
        Row(what="the front end, minified", value=minified, unit="KB", at_most=BUNDLE_KB),
        Row(what="the front end, gzipped", value=gzipped, unit="KB", at_most=BUNDLE_GZIPPED_KB),
    ]
