"""The tokens of a turn: the agent reports the turn's, or the session's total, as ACP defines it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import Open

TOTALS = ["9000 300", "17400 500", "34800 800"]


@pytest.mark.parametrize(
    ("counts", "prompts", "used"),
    [
        ("session", TOTALS, [(9000, 300), (8400, 200), (17400, 300)]),
        (None, TOTALS, [(9000, 300), (8400, 200), (17400, 300)]),
        ("turn", TOTALS, [(9000, 300), (17400, 500), (34800, 800)]),
        (None, ["9000 300", "9100 20", "9200 30"], [(9000, 300), (9100, 20), (9200, 30)]),
        ("session", ["9000 300", "100 20", "200 30"], [(9000, 300), (100, 20), (100, 10)]),
        ("turn", ["quota 3600 150", "quota 1200 50"], [(3600, 150), (1200, 50)]),
    ],
)
def test_token_totals_of_a_session_are_not_added_up(
    open_session: Open, counts: Any, prompts: list[str], used: list[tuple[int, int]]
) -> None:
    """If an agent's way to count is unknown, a number that falls cannot be a total."""
    session = open_session("counts_tokens", spec={"counts_tokens": counts})
    usages = [session.prompt(prompt).wait(PATIENCE).usage for prompt in prompts]
    assert [(each.input_tokens, each.output_tokens) for each in usages if each is not None] == used
