"""Every action has a test case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentnb.state import codec
from agentnb.testing import load_cases

CASES = load_cases(Path(__file__).parents[3] / "tests/cases/reducer")


def types_in(actions: list[dict[str, Any]]) -> Iterator[str]:
    """Yields the types of these actions and of their inner actions."""
    for action in actions:
        yield action["type"]
        yield from types_in([action["action"]] if "action" in action else [])


def test_every_action_has_a_test_case() -> None:
    used = {name for case in CASES.values() for name in types_in(case["actions"])}
    assert set() == codec.ACTIONS.keys() - used
