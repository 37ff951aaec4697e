"""agentnb beside a plain anywidget that sends each chunk by itself, in one run of one JupyterLab in Chromium.

Both get the same stamped chunks at the same pace: agentnb from an agent process, the plain widget from a loop in the
kernel, which spares it the agent. Counted are the comm messages on the websocket and their bytes; a chunk is late by
the time between its stamp and the animation frame that shows it.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, WebSocket

from tests.benchmarks.browser import a_lab
from tests.benchmarks.row import Row
from tests.browser.lab import Lab, notebook

ROOT = Path(__file__).parents[2]
PACES = ((2_000, 2.0), (5_000, 0.0))  # chunks, and milliseconds between two of them
CHUNK_BYTES = len("⟨1790000000000.123⟩ ".encode())
LIMIT_SMOOTH, LIMIT_FLOOD = 0.2, 0.1
PLAIN = """
import threading, time
import anywidget

class Plain(anywidget.AnyWidget):
    _esm = '''
    export default { render({ model, el }) {
      const text = document.createElement("pre");
      text.className = "plain-transcript";
      el.append(text);
      model.on("msg:custom", (message) => text.append(message.text));
    } };
    '''

def stream(widget, count, pause):
    clock = threading.Event()
    for _ in range(count):
        clock.wait(pause / 1000)
        widget.send({"text": f"⟨{time.time() * 1000:.3f}⟩ "})

plain = Plain()
plain
"""
WATCH = r"""
(plain) => {
  const seen = window.agentnbSeen = new Map();
  window.agentnbChangedAt = performance.now();
  const read = (root) => {
    for (const found of root.textContent.matchAll(/⟨(\d+\.\d+)⟩/g)) {
      if (seen.has(found[1])) continue;
      seen.set(found[1], performance.timeOrigin + performance.now());
      window.agentnbChangedAt = performance.now();
    }
  };
  const tick = () => {
    if (window.agentnbSeen !== seen) return;
    requestAnimationFrame(tick);
    if (plain) return document.querySelectorAll('.plain-transcript').forEach(read);
    for (const element of document.querySelectorAll('.jp-OutputArea-output *')) {
      if (element.shadowRoot) read(element.shadowRoot);
    }
  };
  requestAnimationFrame(tick);
}
"""
SETTLED = "(count) => window.agentnbSeen.size >= count || performance.now() - window.agentnbChangedAt > 3000"


@dataclass
class Traffic:
    """The comm messages that came in, and how many bytes they were."""

    messages: int = 0
    size: int = 0

    def take(self, payload: str | bytes) -> None:
        raw = payload if isinstance(payload, bytes) else payload.encode()
        if b"comm_msg" in raw[:2_000]:
            self.messages += 1
            self.size += len(raw)

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(self.messages - other.messages, self.size - other.size)


@dataclass
class Run:
    """What one stream came to."""

    traffic: Traffic
    shown: int
    late: list[float]
    took: float

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.late, n=20)[18]


def measure() -> list[Row]:
    """The rows of ``make bench``."""
    rows: list[Row] = []
    with a_lab() as lab:
        traffic = Traffic()
        lab.page.on("websocket", lambda socket: _count(socket, traffic))
        for number, (count, pause) in enumerate(PACES):
            ours, theirs = _both(lab, traffic, f"plain-{number}.ipynb", count, pause)
            rows += _rows(ours, theirs, count, pause)
    return rows


def _count(socket: WebSocket, traffic: Traffic) -> None:
    socket.on("framereceived", traffic.take)


def _both(lab: Lab, traffic: Traffic, name: str, count: int, pause: float) -> tuple[Run, Run]:
    command = [sys.executable, str(ROOT / "tests/agents/clock.py")]
    cells = (
        f"import agentnb\nsession = agentnb.start(command={command!r})\nsession",
        f"turn = await session.prompt('{count} {pause}')",
        PLAIN,
        f"stream(plain, {count}, {pause})",
    )
    lab.open(name, notebook(*cells, kernel="python3"), workspace=Path(name).stem)
    ours = _run(lab, traffic, 0, count)
    return ours, _run(lab, traffic, 2, count, plain=True)


def _run(lab: Lab, traffic: Traffic, cell: int, count: int, *, plain: bool = False) -> Run:
    lab.cell(cell).run()
    lab.cell(cell).expect_done(cell + 1)
    before = Traffic(traffic.messages, traffic.size)
    lab.page.evaluate(WATCH, plain)
    lab.cell(cell + 1).run()
    lab.cell(cell + 1).expect_done(cell + 2)
    return _seen(lab.page, traffic, before, count)


def _seen(page: Page, traffic: Traffic, before: Traffic, count: int) -> Run:
    page.wait_for_function(SETTLED, arg=count)
    seen: list[list[float]] = page.evaluate("[...window.agentnbSeen].map(([said, shown]) => [Number(said), shown])")
    late = [shown - said for said, shown in seen]
    took = max(shown for _, shown in seen) - min(said for said, _ in seen)
    return Run(traffic - before, len(seen), late, took)


def _rows(ours: Run, theirs: Run, count: int, pause: float) -> list[Row]:
    pace = f"{count:,} chunks" + (f" at {1000 / pause:,.0f}/s" if pause else " at once")
    limit = LIMIT_SMOOTH if pause else LIMIT_FLOOD
    text = count * CHUNK_BYTES
    return [
        Row(
            what=f"{pace}: messages to the page",
            value=ours.traffic.messages,
            unit="",
            beside=theirs.traffic.messages,
            beside_name="plain widget",
            at_most=limit,
        ),
        Row(
            what=f"{pace}: bytes on the websocket per byte of text",
            value=ours.traffic.size / text,
            unit="B/B",
            beside=theirs.traffic.size / text,
            beside_name="plain widget",
            at_most=limit,
        ),
        Row(
            what=f"{pace}: first chunk said to last pixel",
            value=ours.took,
            unit="ms",
            beside=theirs.took,
            beside_name="plain widget",
        ),
        Row(what=f"{pace}: p95 of a chunk", value=ours.p95, unit="ms", beside=theirs.p95, beside_name="plain widget"),
        Row(what=f"{pace}: chunks shown", value=ours.shown, unit="", beside=count, beside_name="said", at_least=1.0),
        Row(
            what=f"{pace}: chunks shown by the plain widget",
            value=theirs.shown,
            unit="",
            beside=count,
            beside_name="said",
        ),
    ]
