"""The inside: the JSON Schema of the wire, from which the page's types are made, against the cases of all actions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentnb.state.codec import ACTIONS
from agentnb.state.schema import json_schema
from agentnb.testing import load_cases, without_nulls

ROOT = Path(__file__).parents[3]
SCHEMA = json_schema()
CASES = load_cases(ROOT / "tests/cases/reducer")
STATES = {
    "root": "RootState",
    "session": "SessionState",
    "chat": "ChatState",
    "terminal": "TerminalState",
    "changeset": "ChangesetState",
}
OPEN = {"someFutureKind", "chat/notYetKnown", "x-agentnb/notYetKnown"}


def validator(name: str) -> Draft202012Validator:
    """Returns a validator of one definition of the schema."""
    return Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})


def test_schema_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    references = {part.split('"')[0] for part in json.dumps(SCHEMA).split('"#/$defs/')[1:]}
    assert set() == references - SCHEMA["$defs"].keys()


@pytest.mark.parametrize("name", CASES)
def test_reducer_cases_match_the_schema(name: str) -> None:
    """Except states and actions of unknown kinds."""
    case = without_nulls(CASES[name])
    state = validator(STATES[case["reducer"]])
    action = validator("Action")
    if not any(word in json.dumps(case) for word in OPEN):
        assert [] == [error.message for side in ("initial", "expected") for error in state.iter_errors(case[side])]
        assert [] == [error.message for one in case["actions"] for error in action.iter_errors(one)]


def types_in(actions: list[dict[str, Any]]) -> Iterator[str]:
    """Yields the types of these actions and of their inner actions."""
    for action in actions:
        yield action["type"]
        yield from types_in([action["action"]] if "action" in action else [])


def test_every_action_has_a_test_case() -> None:
    used = {name for case in CASES.values() for name in types_in(case["actions"])}
    assert set() == ACTIONS.keys() - used
