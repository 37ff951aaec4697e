"""Version 2 of ACP, a draft, with an agent built from its schema: users see the same as with version 1."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentnb.acp.agent import Agent
from agentnb.acp.opening import OpenRequest
from agentnb.errors import AgentDied, AgentRefused, AgentStartFailed
from agentnb.state import (
    Action,
    ChatToolCallReady,
    PlanResponsePart,
    RawResponsePart,
    SystemNotificationResponsePart,
    ToolCallCompletedState,
    ToolCallResponsePart,
    ToolTerminalContent,
    ToolTextContent,
    XConfigOptionsChanged,
)
from tests.unit.acp.recording_listener import RecordingListener, Talk, scripted, talking, turns_of
from tests.unit.api.conftest import PATIENCE


def talking_2(cwd: Path) -> Any:
    """Opens a session with the agent that speaks version 2."""
    return talking("second_version", cwd, protocol=2)


async def test_turn_of_version_2_shows_the_same_as_version_1(tmp_path: Path) -> None:
    """Whole messages, a growing call, a terminal, a diff, a plan, a notice, and unknown updates."""
    async with talking_2(tmp_path) as talk:
        assert (talk.agent.name, talk.agent.version) == ("Second", "2.0")
        can = talk.agent.capabilities
        assert (can.takes_pictures, can.offers("resume"), can.offers("delete")) == (
            True,
            True,
            False,
        )
        assert (await talk.prompt("work")).stop_reason == "end_turn"
        assert talk.listener.text == "Working."
        parts = [part for turn in turns_of(talk.listener.chat) for part in turn.response_parts]
        call = next(part.tool_call for part in parts if isinstance(part, ToolCallResponsePart))
        assert isinstance(call, ToolCallCompletedState)
        assert call.details is not None
        assert call.details.content == (
            ToolTerminalContent(terminal_id="t1"), ToolTextContent(text="```diff\n-old\n+new\n```"),
        )  # fmt: skip
        terminal = next(iter(talk.listener.chat.terminals or ()))
        assert (terminal.command, terminal.output, terminal.exit_code) == ("make", "built\n", 0)
        assert [part.entries[0].content for part in parts if isinstance(part, PlanResponsePart)] == ["Build"]
        notice = next(part for part in parts if isinstance(part, SystemNotificationResponsePart))
        assert notice.content == "Warning: Fallback model\nThe first one is busy."
        assert [part.name for part in parts if isinstance(part, RawResponsePart)] == ["_own_thing"]


async def test_permission_request_for_a_command_has_the_command(tmp_path: Path) -> None:
    """The policy judges the command, not a title."""
    async with talking_2(tmp_path) as talk:
        await talk.prompt("ask")
        (question,) = talk.listener.questions
        assert question.title == "List files"
        actions = question.actions(talk.listener.chat, "t1")[1]
        call = next(action for action in actions if isinstance(action, ChatToolCallReady))
        assert call.tool_input == "ls -l"
        assert talk.listener.text == "yes"


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ("fail", AgentRefused, "returned an error: The model is gone."),
        ("refuse", AgentRefused, "No more prompts"),
        ("die", AgentDied, "stopped unexpectedly"),
    ],
)
async def test_failed_turn_ends_with_the_reason(
    tmp_path: Path, words: str, error: type[Exception], message: str
) -> None:
    """By its state, by the prompt's response, or by the end of the process."""
    async with talking_2(tmp_path) as talk:
        with pytest.raises(error, match=message):
            await talk.prompt(words)


async def test_cancelled_turn_ends_when_the_session_is_idle(tmp_path: Path) -> None:
    """The prompt's response came long before."""
    async with talking_2(tmp_path) as talk:
        answer = talk.begin("wait")
        talk.agent.cancel(talk.session_id)
        assert (await asyncio.wait_for(answer, PATIENCE)).stop_reason == "cancelled"


async def test_options_can_be_set_and_an_old_session_is_replayed(tmp_path: Path) -> None:
    """In it, `session/load` is `session/resume` from the start."""
    async with talking_2(tmp_path) as talk:
        heard: list[Action] = []
        await talk.agent.set_config_option(talk.session_id, "model", "large", heard.extend)
        (chosen,) = heard
        assert isinstance(chosen, XConfigOptionsChanged)
        assert (chosen.config_options[0]["id"], chosen.config_options[0]["currentValue"]) == ("model", "large")
        listener = RecordingListener()
        old = OpenRequest(cwd=str(tmp_path), way="load", former="old-1")
        await talk.agent.open_session(old, listener)
        await asyncio.wait_for(listener.spoken.wait(), PATIENCE)
        assert listener.text == "Earlier."


async def test_agent_that_answers_with_version_1_is_used_with_it(tmp_path: Path) -> None:
    """Trying the draft is safe with agents that lack it."""
    spec = replace(scripted("second_version", protocol=2), command=(*scripted("second_version").command, "1"))
    agent = await Agent.launch(spec, cwd=tmp_path)
    try:
        listener = RecordingListener()
        opened = await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener)
        assert (await Talk(agent, opened.session_id, listener).prompt("hi")).stop_reason == "end_turn"
        assert listener.text == "Of the first version."
    finally:
        await agent.stop(patience=0.5)


async def test_agent_that_answers_with_version_2_unasked_is_refused(tmp_path: Path) -> None:
    """Its description must set `protocol = 2`."""
    script = "import wire; wire.answer(wire.receive(), {'protocolVersion': 2}); wire.receive()"
    folder = str(Path(__file__).parents[2] / "agents")
    spec = replace(
        scripted("echo"), command=(sys.executable, "-c", f"import sys; sys.path.append({folder!r}); {script}")
    )
    with pytest.raises(AgentStartFailed, match=r"version 2 of .* protocol = 2"):
        await Agent.launch(spec, cwd=tmp_path)
