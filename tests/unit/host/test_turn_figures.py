"""The figures of a turn: its tokens, of which an agent reports the turn's or the session's total, and its times."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import pytest

from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel

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
    kernel: Kernel, counts: Any, prompts: list[str], used: list[tuple[int, int]]
) -> None:
    """If an agent's way to count is unknown, a number that falls cannot be a total."""
    session = kernel.start("counts_tokens", spec={"counts_tokens": counts})
    usages = [session.prompt(prompt).wait(PATIENCE).usage for prompt in prompts]
    assert [(each.input_tokens, each.output_tokens) for each in usages if each is not None] == used


def seconds(moment: str | None) -> float:
    return datetime.fromisoformat((moment or "").replace("Z", "+00:00")).timestamp()


def test_turn_records_when_it_began_and_ended(kernel: Kernel) -> None:
    """By the kernel's clock, for answered, failed and stopped turns; a running turn has no end."""
    session = kernel.start()
    for prompt in ("/say x", "/crash", "/hang"):
        before = time.time() - 0.001  # times are whole milliseconds
        turn = session.prompt(prompt)
        if prompt == "/hang":
            next(iter(turn))
            running = session.chat.active_turn
            assert running is not None
            assert before <= seconds(running.started_at) <= time.time()
            turn.cancel()
        turn.wait(PATIENCE, check=False)
        ended = session.chat.turns[-1]
        began = seconds(ended.started_at)
        assert before <= began <= began + (ended.duration or 0) / 1000 <= time.time()
