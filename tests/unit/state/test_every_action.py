"""Tables that must be whole: every action has a reducer, a case, a form on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentnb.state import action_type, codec
from agentnb.state.action import KnownAction, kinds_of
from agentnb.state.reducers import REDUCERS
from agentnb.testing import load_cases

CASES = load_cases(Path(__file__).parents[3] / "tests/cases/reducer")


def types_in(actions: list[dict[str, Any]]) -> Iterator[str]:
    """The types of these actions and of those within them."""
    for action in actions:
        yield action["type"]
        yield from types_in([action["action"]] if "action" in action else [])


def test_every_action_has_a_case_of_ours() -> None:
    """Every action type that we know is in one of our own cases."""
    used = {name for case in CASES.values() for name in types_in(case["actions"])}
    assert set() == codec.ACTIONS.keys() - used


def test_every_action_has_a_reducer() -> None:
    """Each action that is declared is reduced, and nothing else is."""
    assert {kind for table in REDUCERS.values() for kind in table} == set(codec.ACTIONS.values())


def test_every_action_that_is_declared_is_known() -> None:
    """An action's type on the wire leads back to its class, no two share one, and each says its channel."""
    declared = kinds_of(KnownAction)
    assert {kind: str(kind.__struct_config__.tag) for kind in declared} == {
        kind: n for n, kind in codec.ACTIONS.items()
    }
    channels = {name: kind.channel_kind for name, kind in codec.ACTIONS.items() if not name.startswith("x-agentnb/")}
    assert channels == {name: name.partition("/")[0] for name in channels}


def test_our_own_words_are_marked() -> None:
    """A class begins with X exactly when its type is ours and not the Agent Host Protocol's."""
    ours = {name for name, kind in codec.ACTIONS.items() if kind.__name__.startswith("X")}
    assert {name for name in codec.ACTIONS if name.startswith("x-agentnb/")} == ours


def test_action_type_of_an_unknown_action() -> None:
    """An unknown action says the type it came with."""
    assert "chat/new" == action_type(codec.decode_action({"type": "chat/new"}))
