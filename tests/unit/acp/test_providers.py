"""The providers in an agent's description are set before its first session, or the agent does not start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentnb.acp.agent import Agent
from agentnb.agent.catalog import Provider
from agentnb.errors import AgentStartFailed
from tests.unit.acp.recording_listener import scripted, talking

MAIN = Provider(api_type="anthropic", base_url="https://gateway.example.org", token_variable="GATEWAY_TOKEN")


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (
            MAIN,
            [
                "providers/set",
                {
                    "providerId": "main",
                    "apiType": "anthropic",
                    "baseUrl": "https://gateway.example.org",
                    "headers": {"Authorization": "Bearer t0ken"},
                },
            ],
        ),
        (Provider(disabled=True), ["providers/disable", {"providerId": "main"}]),
    ],
)
async def test_provider_is_set_before_the_first_session(tmp_path: Path, provider: Provider, expected: object) -> None:
    """The token is in an environment variable."""
    env = {"GATEWAY_TOKEN": "t0ken"}
    async with talking("sets_providers", tmp_path, env=env, providers={"main": provider}) as talk:
        await talk.prompt("what?")
        assert json.loads(talk.listener.text) == [expected]


@pytest.mark.parametrize(
    ("providers", "words", "message"),
    [
        ({"main": MAIN}, ("none",), "does not let its model providers be set"),
        ({"other": MAIN}, (), r"has no model provider 'other'.*It has: main"),
        ({"main": MAIN}, (), "the variable GATEWAY_TOKEN is not set"),
        ({"main": Provider(api_type="anthropic", base_url="bad://x")}, (), "no address.* 'main' was not set"),
    ],
)
async def test_agent_whose_provider_cannot_be_set_does_not_start(
    tmp_path: Path, providers: dict[str, Provider], words: tuple[str, ...], message: str
) -> None:
    """Its requests would go to the wrong provider."""
    spec = scripted("sets_providers", providers=providers)
    with pytest.raises(AgentStartFailed, match=message):
        await Agent.launch(replace(spec, command=(*spec.command, *words)), cwd=tmp_path)
