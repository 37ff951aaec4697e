"""Tables that must be whole: every action has a reducer, a case, a form on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentnb.state import (
    Action,
    ChangesetAction,
    ChatAction,
    RootAction,
    SessionAction,
    SessionMemberAction,
    TerminalAction,
    action_type,
    codec,
)
from agentnb.state.changeset import REDUCERS as CHANGESET
from agentnb.state.chat_reducer import REDUCERS as CHAT
from agentnb.state.root import REDUCERS as ROOT
from agentnb.state.session_reducer import REDUCERS as SESSION
from agentnb.state.terminal import REDUCERS as TERMINAL
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


@pytest.mark.parametrize(
    ("union", "reducers"),
    [
        (RootAction, ROOT),
        (SessionAction | SessionMemberAction, SESSION),
        (ChatAction, CHAT),
        (TerminalAction, TERMINAL),
        (ChangesetAction, CHANGESET),
    ],
    ids=["root", "session", "chat", "terminal", "changeset"],
)
def test_every_action_has_a_reducer(union: Any, reducers: dict[type[Action], Any]) -> None:
    """Each channel's table of reducers has exactly the channel's actions."""
    assert set(union.__args__) == set(reducers)


def test_every_action_says_its_type() -> None:
    """An action's type on the wire leads back to its class, and no two share one."""
    unions = (RootAction, SessionAction, SessionMemberAction, ChatAction, TerminalAction, ChangesetAction)
    count = sum(len(union.__args__) for union in unions)
    assert count == len(codec.ACTIONS)
    assert all(kind.__struct_config__.tag == name for name, kind in codec.ACTIONS.items())


def test_our_own_words_are_marked() -> None:
    """A class begins with X exactly when its type is ours and not the Agent Host Protocol's."""
    ours = {name for name, kind in codec.ACTIONS.items() if kind.__name__.startswith("X")}
    assert {name for name in codec.ACTIONS if name.startswith("x-agentnb/")} == ours


def test_action_type_of_an_unknown_action() -> None:
    """An unknown action says the type it came with."""
    assert "chat/new" == action_type(codec.decode_action({"type": "chat/new"}))
