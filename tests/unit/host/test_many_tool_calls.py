"""A turn with thousands of tool calls: each costs the kernel the same, and no other tab is held up."""

from __future__ import annotations

from tests.benchmarks.tool_calls import run


def test_a_tool_call_costs_the_same_however_many_came_before_it() -> None:
    """Twice as many calls take at most three times as long, from the agent's update to the page's flush."""
    whole, half = (min(run(calls)[0] for _ in range(3)) for calls in (1_200, 600))
    assert whole < 3 * half
