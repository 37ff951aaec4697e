"""What tool calls cost the kernel when one turn has very many of them, and how long another tab is held up.

Counted is the processor time of mapper, reducers, log and delivery for three updates a call, and of delivery to a page.
"""

from __future__ import annotations

import time
from typing import Any

from agentnb.acp.sessions import deliver
from tests.benchmarks.row import Row
from tests.benchmarks.workload import Workload

CALLS = 10_000
READ = 50  # calls that come in one read of the agent's output
RUNS = 2


def updates(number: int) -> list[dict[str, Any]]:
    """What an agent says of one call: begun, running, done."""
    call = {"toolCallId": f"call-{number}"}
    begun = {"title": f"Read file {number}", "kind": "read", "status": "pending", "rawInput": {"path": f"{number}.py"}}
    content = [{"type": "content", "content": {"type": "text", "text": "12 lines"}}]
    return [
        {"sessionUpdate": "tool_call", **call, **begun},
        {"sessionUpdate": "tool_call_update", **call, "status": "in_progress"},
        {"sessionUpdate": "tool_call_update", **call, "status": "completed", "content": content},
    ]


def run(calls: int, page: str = "seen") -> tuple[float, float]:
    """The seconds of processor time for all *calls* of one turn, and the longest that one read or flush took."""
    workload = Workload(1, page)
    workload.begin_turns()
    workload.spent = longest = 0.0
    for first in range(0, calls, READ):
        said = [update for number in range(first, first + READ) for update in updates(number)]
        for step in (
            lambda said=said: deliver(said, workload.conversations[0].events),
            lambda: workload.loop.advance(20),
        ):
            began = time.process_time()
            workload.kernel(step)
            longest = max(longest, time.process_time() - began)
        workload.pass_time(0)
    workload.pass_time(2_000)
    return workload.spent, longest


def measure() -> list[Row]:
    """The rows of ``make bench``."""
    whole = min(run(CALLS)[0] for _ in range(RUNS))
    half = min(run(CALLS // 2)[0] for _ in range(RUNS))
    longest = min(run(CALLS)[1] for _ in range(RUNS))
    return [
        Row(what=f"{CALLS:,} tool calls in one turn, kernel time", value=whole, unit="s", at_most=1.5),
        Row(what="the same, beside half as many", value=whole, unit="s", beside=half, beside_name="half", at_most=2.5),
        Row(what="the longest that they hold up another tab", value=longest * 1e3, unit="ms", at_most=100.0),
    ]
