"""The JSON Schema of the wire, and the TypeScript made from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

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
