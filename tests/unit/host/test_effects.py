"""The table of effects: it names what the host does outside its state, and the documentation shows it."""

from __future__ import annotations

import ast

from agentnb.acp.agent import Agent
from agentnb.host import effects
from agentnb.host.effects import EFFECTS, table
from agentnb.host.intents import DISPATCHABLE
from agentnb.state import (
    ChatInputAnswerChanged,
    ChatPendingMessageRemoved,
    ChatQueuedMessagesReordered,
    SessionIsReadChanged,
    SessionTitleChanged,
)
from tests.conftest import ROOT

STATE_ONLY = {
    ChatInputAnswerChanged,
    ChatPendingMessageRemoved,
    ChatQueuedMessagesReordered,
    SessionIsReadChanged,
    SessionTitleChanged,
}
"""What a client may do that changes the state alone (a queue that goes on starts a turn, with its effects)."""
TO_THE_AGENT = {name for name, member in vars(Agent).items() if callable(member) and not name.startswith("_")}


def test_an_action_that_a_client_may_dispatch_when_it_causes_something_is_in_the_table() -> None:
    """A new intent says what it causes."""
    assert set(DISPATCHABLE) - STATE_ONLY == set(DISPATCHABLE) & set(EFFECTS)
    assert not STATE_ONLY & set(EFFECTS)


def test_the_documentation_when_the_table_changes_shows_it() -> None:
    """`docs/explanation/data-flow.md` has the same table."""
    assert table() in (ROOT / "docs/explanation/data-flow.md").read_text(encoding="utf-8")


def test_the_host_when_it_prompts_or_cancels_does_so_in_one_place_each() -> None:
    """Nobody but the turns talks to the agent about a turn, nobody but the intents about its mode and options."""
    places: dict[str, set[str]] = {}
    for path in sorted((ROOT / "agentnb/host").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = ast.unparse(node.func.value)
                if owner in {"agent", "self.agent"} and node.func.attr in TO_THE_AGENT:
                    places.setdefault(node.func.attr, set()).add(path.stem)
    expected = {"prompt": {"turns"}, "cancel": {"turns"}, "set_mode": {"asking", "intents"}}
    assert {name: places[name] for name in expected} == expected
    assert places["open_session"] == {"agent_lifecycle"}


def test_an_effect_when_it_has_a_name_is_caused_by_an_action() -> None:
    """None is named that nothing causes, and each is carried out by a function of its own."""
    named = {name: each for name, each in vars(effects).items() if isinstance(each, effects.Effect)}
    caused = {each for row in EFFECTS.values() for each in row} | {effects.RECORD}
    assert set(named.values()) == caused
    assert len({each.by for each in caused}) == len({each.what for each in caused}) == len(caused)
