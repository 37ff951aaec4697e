"""The providers in an agent's description are set before its first session, or the agent does not start."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentnb import Session
from tests.unit.acp.conftest import Describe
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]
MAIN = {"api_type": "anthropic", "base_url": "https://gateway.example.org", "token_variable": "GATEWAY_TOKEN"}
SET = {
    "providerId": "main",
    "apiType": "anthropic",
    "baseUrl": "https://gateway.example.org",
    "headers": {"Authorization": "Bearer t0ken"},
}


@pytest.mark.parametrize(
    ("provider", "expected"),
    [(MAIN, ["providers/set", SET]), ({"disabled": True}, ["providers/disable", {"providerId": "main"}])],
    ids=["set", "disabled"],
)
def test_provider_is_set_before_the_first_session(
    start: Start, describe: Describe, provider: dict[str, Any], expected: object
) -> None:
    """The token is in an environment variable."""
    name = describe("sets_providers", providers={"main": provider})
    turn = start(agent=name, env={"GATEWAY_TOKEN": "t0ken"}).prompt("what?").wait(PATIENCE)
    assert json.loads(turn.text) == [expected]


@pytest.mark.parametrize(
    ("providers", "words", "message"),
    [
        ({"main": MAIN}, ("none",), "does not let its model providers be set"),
        ({"other": MAIN}, (), "has no model provider 'other'"),
        ({"main": MAIN}, (), "the variable GATEWAY_TOKEN is not set"),
        ({"main": {"api_type": "anthropic", "base_url": "bad://x"}}, (), "'main' was not set"),
    ],
    ids=["not offered", "unknown provider", "no token", "refused address"],
)
def test_agent_whose_provider_cannot_be_set_does_not_start(
    start: Start, describe: Describe, providers: dict[str, Any], words: tuple[str, ...], message: str
) -> None:
    """Its requests would go to the wrong provider."""
    turn = start(agent=describe("sets_providers", *words, providers=providers)).prompt("what?")
    assert turn.wait(PATIENCE, check=False).error is not None
    assert turn.error is not None
    assert message in turn.error.message
