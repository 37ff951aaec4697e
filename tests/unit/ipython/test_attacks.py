"""The attacks of ``tests/cases/attacks`` in the Markdown that stays in the notebook: none takes effect.

The inside: hostile text in four renderers.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentnb.ipython.markdown import harmless, harmless_line
from agentnb.ipython.transcript import transcript
from tests.unit.ipython.test_markdown import check
from tests.unit.ipython.test_transcript import hostile_turn

FOLDER = Path(__file__).parents[2] / "cases" / "attacks"
LONG = 600
"""The length of endless attacks, deeper than any renderer nests; safety does not depend on length."""


def attacks(path: Path) -> list[str]:
    """Returns the texts of one file."""
    messages = json.loads(path.read_text(encoding="utf-8"))["messages"]
    return list(dict.fromkeys((one["text"] * one.get("times", 1))[:LONG] for one in messages))


FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_no_attack_survives_as_text(path: Path) -> None:
    """As a message and as a single line, in every renderer."""
    for attack in attacks(path):
        check(harmless(attack))
        check(harmless_line(attack))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_no_attack_survives_in_a_transcript(path: Path) -> None:
    """Message, thought, tool title, command, path, diff, output, plan, error and reason."""
    for attack in attacks(path):
        ended, terminals = hostile_turn(attack, attack, "execute")
        check(transcript(ended, terminals=terminals))
