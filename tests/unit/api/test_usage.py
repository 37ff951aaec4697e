"""Tokens and costs in Python and in a shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import agentnb
from tests.unit.api.test_history import Folder

PROMPTS = "s = agentnb.start('eliza'); [s.prompt(p).wait(60) for p in ('Hello there', '/usage', 'More', '/usage')]"
ASK = f"""import agentnb, json
{PROMPTS}
found = agentnb.usage("turn")
print(json.dumps([[row.name, row.turns, row.input_tokens, row.costs] for row in found]))
print(json.dumps(found.total.costs))
s.close()"""


def test_session_cost_is_split_among_its_turns(tmp_path: Path) -> None:
    """Each turn has the increase since the last; a later kernel and a shell read the same."""
    here = Folder(tmp_path)
    rows, total = map(json.loads, here.run(ASK).stdout.splitlines())
    names, turns, tokens, costs = zip(*rows, strict=True)
    assert names == ("/usage", "More", "/usage", "Hello there")
    assert turns == (1, 1, 1, 1)
    assert (tokens[1], costs[1], costs[3]) == (None, {}, {})
    assert 0 < costs[0]["USD"]
    assert total["USD"] == pytest.approx(costs[0]["USD"] + costs[2]["USD"])
    assert json.loads(here.says("__import__('json').dumps(agentnb.usage('agent').total.costs)")) == total

    [row] = json.loads(here.shell("usage", "--by", "agent", "--json"))
    assert (row["name"], row["turns"], row["costs"]) == ("eliza", 4, total)
    assert here.shell("usage", "--agent", "nobody").strip() == "No finished turns, or none that match."
    table = here.shell("usage", "--by", "turn").splitlines()
    assert table[0].split() == ["turn", "turns", "input", "output", "cached", "cost"]
    assert table[-1].split()[:2] == ["total", "4"]
    assert "not a date" in here.shell("usage", "--since", "soon", code=1)


def test_usage_rejects_wrong_arguments() -> None:
    with pytest.raises(
        agentnb.UsageError, match="by must be one of 'turn', 'session', 'day', 'agent', 'folder', not 'week'"
    ):
        agentnb.usage("week")  # type: ignore[arg-type]
    with pytest.raises(agentnb.UsageError, match="not a date"):
        agentnb.usage(since="soon")
    with pytest.raises(agentnb.UsageError, match="limit"):
        agentnb.usage(limit=0)
