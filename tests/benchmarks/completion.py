"""Completions in a cell: time of page, comm and kernel, without the model's."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect

from tests.benchmarks.browser import a_lab
from tests.benchmarks.row import Row
from tests.browser import completing
from tests.browser.lab import PATIENCE_MS

SERVER = Path(__file__).parents[1] / "agents/model_server.py"
TIMES = 30
MOST_MS = 150
OURS = (
    """() => performance.getEntriesByName("agentnb-completion").map(({ duration, detail }) => duration - detail.took)"""
)
ABOVE = 40
"""The number of cells above, and of variables."""


def measure() -> list[Row]:
    """Types *TIMES* letters in a notebook with many cells and names; a suggestion follows each."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        ports = json.loads(process.stdout.readline())
        try:
            ours = sorted(_typed(f"http://127.0.0.1:{ports['ollama']}/v1"))
        finally:
            process.communicate()
    what = "completion, beside the model"
    return [
        Row(what=f"{what}: median", value=statistics.median(ours), unit="ms", at_most=MOST_MS),
        Row(what=f"{what}: slowest of {len(ours)}", value=ours[-1], unit="ms"),
    ]


def _typed(url: str) -> list[float]:
    cells = [f"name_{number} = [{number}] * {number}" for number in range(ABOVE)]
    with a_lab() as lab:
        completing.begin(lab, "completion.ipynb", url, *cells, "", kernel="python3")
        lab.command("notebook:run-all-cells")
        lab.cell(ABOVE).expect_done(ABOVE + 2)
        lab.cell(ABOVE + 1).write("# fills: total\n")
        for number in range(TIMES):
            lab.page.keyboard.type("x")
            lab.page.wait_for_function(f"() => ({OURS})().length > {number}", timeout=PATIENCE_MS)
            expect(lab.page.locator(".jp-GhostText")).to_be_visible()
        return list(lab.page.evaluate(OURS))
