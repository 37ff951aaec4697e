"""Kernel memory while a page stays hidden for a million chunks, in a separate process.

Only the text itself may grow, because the state holds it; nothing is kept for a hidden page. The log's limit is
reached early, so that the second half of the chunks shows how much each chunk leaves behind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil

from agentnb.log.record import MAX_ENTRIES
from tests.benchmarks.row import Row
from tests.benchmarks.workload import TEXT, Workload

ROOT = Path(__file__).parents[2]
CHUNKS = 1_000_000
PER_TURN = 2_000
PER_FLUSH = 50
LIMIT_GROWTH = 2.0
LIMIT_BESIDE = 1.25
PAGES = ("hidden", "none")


def stream(page: str, chunks: int) -> dict[str, float]:
    """Returns the growth of resident memory in bytes after half of the chunks, and after all."""
    workload = Workload(1, page)
    memory = psutil.Process(os.getpid()).memory_info
    before, marks = memory().rss, []
    conversation = workload.conversations[0]
    for number in range(chunks):
        if number % PER_TURN == 0:
            workload.begin_turns()
        if number == chunks // 2:
            marks.append(memory().rss - before)
        workload.say(conversation)
        if number % PER_FLUSH == 0:
            workload.pass_time(10)
    marks.append(memory().rss - before)
    assert len(conversation.chat.log) <= MAX_ENTRIES
    if workload.page is not None:
        assert workload.page.channels[conversation.chat.uri].index == 0, "the hidden page was sent the chat"
    return {"half": float(marks[0]), "all": float(marks[1])}


def measure() -> list[Row]:
    measured = {page: _apart(page) for page in PAGES}
    text = CHUNKS * len(TEXT)
    hidden, nobody = measured["hidden"], measured["none"]
    return [
        Row(
            what=f"memory for {CHUNKS:,} chunks while hidden",
            value=hidden["all"] / 1e6,
            unit="MB",
            beside=nobody["all"] / 1e6,
            beside_name="nobody attached",
            at_most=LIMIT_BESIDE,
        ),
        Row(
            what="memory that the second half of them takes",
            value=(hidden["all"] - hidden["half"]) / 1e6,
            unit="MB",
            beside=text / 2 / 1e6,
            beside_name="their text",
            at_most=LIMIT_GROWTH,
        ),
    ]


def _apart(page: str) -> dict[str, float]:
    code = f"import json; from tests.benchmarks.hidden import stream; print(json.dumps(stream({page!r}, {CHUNKS})))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(run.stdout)
    return measured
