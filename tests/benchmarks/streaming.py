"""Plain text at 200 chunks a second for ten seconds: how late and how smoothly it is shown, and the cost.

The agent counts, and writes the time of each number to a file. A page is measured twice: with a probe that reads
the end of the view at each animation frame (lag, paints), and without it (the main thread, the websocket). A short
turn comes first, because the page fetches some parts once.
"""

from __future__ import annotations

import json
import statistics
import sys
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import CDPSession, WebSocket

from tests.benchmarks.browser import ROOT, a_lab
from tests.benchmarks.row import Row
from tests.browser.lab import Lab, notebook

PER_SECOND, SECONDS = 200, 10
COUNT = PER_SECOND * SECONDS
P50_MS, P95_MS, PAINTS, SHARE, PER_FLUSH, KILOBYTES = 35.0, 70.0, 250.0, 20.0, 1.2, 200.0
BUSY, PROCESSOR = "TaskDuration", "ThreadTime"
"""Chromium's metrics: the duration of the main thread's tasks, and its processor time."""
CLOCK = [sys.executable, str(ROOT / "tests/agents/clock.py")]
WATCH = r"""
() => {
  const seen = window.agentnbSeen = [];
  const tick = () => {
    requestAnimationFrame(tick);
    for (const element of document.querySelectorAll('.agentnb-view')) {
      const blocks = element.shadowRoot?.querySelectorAll('.block') ?? [];
      const number = Number(/(\d{5})\s*$/.exec(blocks[blocks.length - 1]?.textContent.slice(-9) ?? '')?.[1] ?? 0);
      if (number !== seen.at(-1)?.[1]) seen.push([performance.timeOrigin + performance.now(), number]);
    }
  };
  requestAnimationFrame(tick);
}
"""
ALL_SHOWN = f"() => window.agentnbSeen.length > 2 && window.agentnbSeen.at(-1)[1] === {COUNT}"


@dataclass
class Socket:
    """Traffic of the websockets: messages and bytes to the page, ours and all; messages from the page."""

    flushes: int = 0
    frames: int = 0
    size: int = 0
    sent: int = 0
    counts: bool = False

    def watch(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._received)
        socket.on("framesent", self._sent)

    def _received(self, payload: str | bytes) -> None:
        raw = payload if isinstance(payload, bytes) else payload.encode()
        self.frames += self.counts
        self.size += len(raw) * self.counts
        self.flushes += self.counts and b"comm_msg" in raw and (b'"flush"' in raw or b'x-agentnb/text"' in raw)

    def _sent(self, _payload: str | bytes) -> None:
        self.sent += self.counts


def measure() -> list[Row]:
    with a_lab() as lab:
        socket = Socket()
        lab.page.on("websocket", socket.watch)
        start = f"import agentnb\nsession = agentnb.start(command={CLOCK!r})\nsession"
        lab.open("streaming.ipynb", notebook(start, kernel="python3"))
        lab.cell(0).run()
        lab.cell(0).expect_done(1)
        shares = _unwatched(lab, socket)
        lab.page.evaluate(WATCH)
        times = _stream(lab, "watched")
        lab.page.wait_for_function(ALL_SHOWN)
        seen: list[list[float]] = lab.page.evaluate("window.agentnbSeen")
        counted = [(at, int(number)) for at, number in seen if at >= times[0]]
    return _rows(_lags(counted, times), len(counted), shares, socket)


def _stream(lab: Lab, name: str, count: int = COUNT) -> list[float]:
    """Prompts in the chat, so that no cell runs; returns the time of each number."""
    times = lab.server.folder / f"{name}.json"
    box = lab.cell(0).output.get_by_role("textbox").first
    box.fill(f"{count} {1000 / PER_SECOND} {times}")
    box.press("Enter")
    while not times.exists():
        lab.page.wait_for_timeout(500)
    sent: list[float] = json.loads(times.read_text())
    return sent


def _unwatched(lab: Lab, socket: Socket) -> dict[str, float]:
    """Returns the main thread's load in percent while text streams."""
    page = lab.page.context.new_cdp_session(lab.page)
    page.send("Performance.enable")
    _stream(lab, "first", PER_SECOND)
    lab.page.wait_for_timeout(2_000)  # until the view is idle
    before, socket.counts = _metrics(page), True
    _stream(lab, "unwatched")
    after, socket.counts = _metrics(page), False
    page.detach()
    took = after["Timestamp"] - before["Timestamp"]
    return {name: 100 * (after[name] - before[name]) / took for name in (BUSY, PROCESSOR)}


def _metrics(page: CDPSession) -> dict[str, float]:
    metrics: list[dict[str, Any]] = page.send("Performance.getMetrics")["metrics"]
    return {one["name"]: float(one["value"]) for one in metrics}


def _lags(seen: list[tuple[float, int]], times: list[float]) -> list[float]:
    numbers = [number for _, number in seen]
    return [seen[bisect_left(numbers, number)][0] - sent for number, sent in enumerate(times, 1)]


def _rows(lags: list[float], paints: int, shares: dict[str, float], socket: Socket) -> list[Row]:
    pace = f"{PER_SECOND}/s for {SECONDS} s"
    p95 = statistics.quantiles(lags, n=20)[18]
    return [
        Row(what=f"{pace}: chunk to pixels, p50", value=statistics.median(lags), unit="ms", at_most=P50_MS),
        Row(what=f"{pace}: chunk to pixels, p95", value=p95, unit="ms", at_most=P95_MS),
        Row(what=f"{pace}: paints", value=paints, unit="", at_least=PAINTS),
        Row(what=f"{pace}: share of the main thread, no probe", value=shares[BUSY], unit="%", at_most=SHARE),
        Row(what=f"{pace}: its processor time", value=shares[PROCESSOR], unit="%"),
        Row(
            what=f"{pace}: websocket messages to the page",
            value=socket.frames,
            unit="",
            beside=socket.flushes,
            beside_name="flushes",
            at_most=PER_FLUSH,
        ),
        Row(what=f"{pace}: websocket messages from the page", value=socket.sent, unit=""),
        Row(what=f"{pace}: bytes to the page", value=socket.size / 1000, unit="KB", at_most=KILOBYTES),
    ]
