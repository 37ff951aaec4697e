"""Generated schedules of concurrent conversations, compared with a model that only adds whole numbers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb import BudgetExceeded, Session, Turn
from agentnb.testing import Events, events
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.test_budgets import Spender

PROMPT = st.tuples(st.integers(0, 400), st.integers(0, 4))
"""Tokens, and quarters of a dollar."""
WAVES = st.lists(st.dictionaries(st.integers(0, 2), PROMPT, min_size=1), min_size=1, max_size=4)
"""Waves of prompts, each sent to the conversations at once."""


class Model:
    """The usage that the agents themselves report."""

    def __init__(self, tokens: int, quarters: int, turns: int) -> None:
        self.most_tokens, self.most_quarters, self.most_turns = tokens, quarters, turns
        self.tokens = self.quarters = 0
        self.turns = [0, 0, 0]

    def may_begin(self, which: int) -> bool:
        is_left = self.tokens < self.most_tokens and self.quarters < self.most_quarters
        return is_left and self.turns[which] < self.most_turns

    def count(self, answer: str) -> None:
        for word, *amounts in (step.split() for step in answer.removeprefix("did ").split(";")):
            self.tokens += int(amounts[0]) if word == "tokens" else 0
            self.quarters += round(float(amounts[0]) * 4) if word == "cost" else 0


@settings(max_examples=6, deadline=None)
@given(WAVES, st.integers(300, 1500), st.integers(2, 12), st.integers(1, 3))
@pytest.mark.filterwarnings("ignore:T(his|oday):UserWarning")
def test_concurrent_conversations_stop_at_the_modelled_limit(
    waves: list[dict[int, tuple[int, int]]], tokens: int, quarters: int, turns: int
) -> None:
    """All conversations that spend more than is left in a wave are stopped; nothing begins after it."""
    model = Model(tokens, quarters, turns)
    with tempfile.TemporaryDirectory() as folder:
        kernel = Spender(Path(folder))
        kernel.settings_here.values["budget_day"] = f"{tokens} tokens, {quarters / 4:.2f} USD"
        sessions = [kernel.spend(budget=f"{turns} turns") for _ in range(3)]
        try:
            with events("turn") as sent:
                for number, wave in enumerate(waves):
                    _run(sessions, model, wave, Path(folder) / f"gate-{number}", sent)
        finally:
            kernel.close()


def _run(sessions: list[Session], model: Model, wave: dict[int, tuple[int, int]], gate: Path, sent: Events) -> None:
    begin = {which: prompt for which, prompt in wave.items() if model.may_begin(which)}
    is_reached = model.quarters + sum(quarters for _, quarters in begin.values()) >= model.most_quarters
    running: list[Turn] = []
    for which, (tokens, quarters) in wave.items():
        steps = [f"look {gate}", f"tokens {tokens} 0", f"cost {quarters / 4}", *(["wait"] if is_reached else [])]
        turn = sessions[which].prompt(";".join(steps))
        if which not in begin:
            with pytest.raises(BudgetExceeded):
                turn.wait(PATIENCE)
            assert turn.text == ""
            continue
        sent.wait_for("turn.prompted", turn=turn.id, timeout=PATIENCE)
        model.turns[which] += 1
        running.append(turn)
    gate.touch()
    for turn in running:
        if is_reached:
            with pytest.raises(BudgetExceeded, match="Today's budget"):
                turn.wait(PATIENCE)
        else:
            turn.wait(PATIENCE)
    for turn in running:
        model.count(turn.text)
