"""A turn with thousands of tool calls: each costs the kernel the same."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from tests.benchmarks.tool_calls import run


def _function_calls(tool_calls: int) -> int:
    counted = 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        run(tool_calls)
    finally:
        sys.setprofile(None)
    return counted


def test_tool_call_cost_is_independent_of_earlier_calls() -> None:
    """Twice as many tool calls call twice as many functions, from the agent's update to the page's flush.

    ``make bench`` measures the cost of each.
    """
    assert _function_calls(1_200) < 2.2 * _function_calls(600)
