"""Messages on their way through the components arrive after the agent, a component or the client ended."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentnb import Session
from tests.conftest import ROOT
from tests.thorough import examples
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.chain.conducted import PROXY, PYTHON, SESSION, Looks, conducted, inner_conductor, proxy

COMPONENTS: dict[str, Any] = {
    "late": proxy("late", name="late"),
    "slow": proxy("slow", "sdk", name="slow"),
    "plain": proxy("plain", "old"),
    "python": Looks(),
}


def words(count: int) -> str:
    return "".join(f"{number} " for number in range(count))


async def _arrives(components: list[Any], count: int, *, is_answered: bool) -> None:
    async with conducted(*components, agent="says_and_leaves") as client:
        turn = asyncio.ensure_future(client.prompt(f"{count}{' answered' * is_answered}"))
        failure = await asyncio.wait_for(client.failed, PATIENCE)
        assert client.text == words(count)
        assert (failure.name, failure.message) == (
            "says_and_leaves",
            "Says_and_leaves stopped unexpectedly (exit code 7).",
        )
        assert len(failure.unanswered) == (not is_answered)
        if is_answered:
            assert await turn == {"stopReason": "end_turn"}
        turn.cancel()
        assert client.strays == {}


@settings(max_examples=examples(30))
@given(st.lists(st.sampled_from(sorted(COMPONENTS)), min_size=1, max_size=3), st.integers(0, 400), st.booleans())
def test_all_messages_before_the_end_of_an_agent_arrive(names: list[str], count: int, is_answered: bool) -> None:
    """Through any components, also those that pass it on only at the end; an answer arrives, too."""
    asyncio.run(_arrives([COMPONENTS[name] for name in names], count, is_answered=is_answered))


async def test_output_larger_than_the_pipes_arrives() -> None:
    """The agent ends while most of its output still waits in the pipes."""
    await _arrives([proxy("late"), proxy("slow")], 1_500, is_answered=True)  # a fifth of it fills the pipes


async def test_inner_conductor_passes_on_the_last_messages() -> None:
    """Its own components end in the same order as the outer one's: from the agent to the client."""
    inner = inner_conductor(f"{PYTHON} {PROXY} late new", f"{PYTHON} {PROXY}")
    await _arrives([inner], 200, is_answered=True)


DYING: dict[str, tuple[list[Any], str, str]] = {
    "a component dies": ([proxy("late"), proxy("dies_at_answer_to_prompt", name="odd")], "echo", "the component 'odd'"),
    "a component never ends": ([proxy("stays")], "says_and_leaves", "says_and_leaves"),
    "a component answers for the agent": ([proxy("refuses_at_the_end")], "says_and_leaves", "says_and_leaves"),
}


@pytest.mark.parametrize("case", DYING)
async def test_last_messages_arrive_before_the_failure(case: str) -> None:
    """The failure names who died, and nobody else answers the open request."""
    components, agent, name = DYING[case]
    async with conducted(*components, agent=agent) as client:
        turn = asyncio.ensure_future(client.prompt("3"))
        failure = await asyncio.wait_for(client.failed, PATIENCE)
        said = "3" if agent == "echo" else words(3)
        assert (failure.name, client.text, len(failure.unanswered), turn.done()) == (name, said, 1, False)
        turn.cancel()


def test_turn_has_all_its_text_when_the_agent_dies(start: Callable[..., Session]) -> None:
    """The text arrives before the failure."""
    session = start("says_and_leaves", components=[Looks, f"{PYTHON} {PROXY} late"])
    turn = session.prompt("300").wait(PATIENCE, check=False)
    assert turn.text == words(300)
    assert "stopped unexpectedly (exit code 7)" in str(turn.error)


@pytest.mark.parametrize("components", [[], ["plain"], ["slow new", "slow old"]])
def test_client_that_closes_its_input_reads_every_answer(components: list[str]) -> None:
    """It writes its requests, closes its side and reads: `printf … | python -m agentnb.conductor agent …`."""
    calls = [
        ("initialize", {"protocolVersion": 1}),
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/prompt", {"sessionId": SESSION, "prompt": [{"type": "text", "text": "hi"}]}),
    ]
    requests = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(calls)
    ]
    programs = [f"{PYTHON} {PROXY} {each}" for each in components]
    command = [
        sys.executable,
        "-m",
        "agentnb.plugins.chain.conductor",
        "agent",
        *programs,
        f"{PYTHON} {ROOT / 'tests/agents/echo.py'}",
    ]
    # A client waits for the answer to initialize, so it is alone in the first write.
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, cwd=ROOT, text=True) as conductor:
        assert conductor.stdin is not None
        assert conductor.stdout is not None
        conductor.stdin.write(requests[0] + "\n")
        conductor.stdin.flush()
        first = conductor.stdout.readline()
        out, errors = conductor.communicate("\n".join(requests[1:]) + "\n")
    messages = [json.loads(line) for line in (first + out).splitlines()]
    assert [each["id"] for each in messages if "id" in each] == [0, 1, 2]
    assert [each["params"]["update"]["content"]["text"] for each in messages if "method" in each] == ["hi"]
    assert (conductor.returncode, errors) == (0, "")
