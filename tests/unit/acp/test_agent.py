"""A launched agent: turns, routing, permissions, the end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentnb.acp.agent import Agent
from agentnb.acp.opening import OpenRequest, SessionOpened
from agentnb.acp.prompt import PromptResult
from agentnb.agent import Capabilities
from agentnb.agent.catalog import find
from agentnb.agent.guard import GUARD
from agentnb.errors import (
    AgentDied,
    AgentError,
    AgentNotFound,
    AgentRefused,
    AgentStartFailed,
    AuthenticationRequired,
)
from agentnb.state import XConfigOptionsChanged
from tests.unit.acp.recording_listener import RecordingListener, saying, scripted, talking
from tests.unit.api.conftest import PATIENCE


async def test_missing_agent_is_reported_with_its_install_command(tmp_path: Path) -> None:
    spec = scripted("echo", install="npm install -g no-such-agent")
    missing = type(spec)(name="x", title="X", command=("no-such-agent",), install=spec.install)
    with pytest.raises(AgentNotFound, match=r"X is not installed.*'no-such-agent'.*npm install -g no-such-agent"):
        await Agent.launch(missing, cwd=tmp_path)


async def test_launch_in_a_missing_folder_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(AgentStartFailed, match=r"nowhere.* does not exist"):
        await Agent.launch(scripted("echo"), cwd=tmp_path / "nowhere")


async def test_agent_that_dies_at_start_is_reported_with_last_output(tmp_path: Path) -> None:
    """It has the exit status and stderr's tail without colours and keys."""
    with pytest.raises(AgentStartFailed) as failure:
        await Agent.launch(scripted("dies_at_start"), cwd=tmp_path, env={"SCRIPTED_API_KEY": "sk-12345678"})
    message = str(failure.value)
    assert "dies_at_start stopped while starting (exit code 3)." in message
    assert message.endswith("Last output:\nfatal: no configuration found, key ***")


async def test_launch_times_out_when_initialize_is_not_answered(tmp_path: Path) -> None:
    with pytest.raises(
        AgentStartFailed, match=r"silent did not answer within 1 s after it was started.*(\n.*)*licence"
    ):
        await Agent.launch(scripted("silent"), cwd=tmp_path, initialize_timeout=1)


async def test_invalid_output_loses_no_readable_message(tmp_path: Path) -> None:
    """Three chunks among stray lines, each repaired; a response with a text id and NaN."""
    async with talking("rubbish", tmp_path) as talk:
        answer = await talk.prompt()
        assert (answer.stop_reason, talk.listener.text) == (
            "end_turn",
            "caf\N{LATIN SMALL LETTER E WITH ACUTE}\ufffd\ufffd",
        )
        assert talk.agent.connection.stray == 10


async def test_cancel_reaches_the_agent_before_the_permission_answer(tmp_path: Path) -> None:
    """`session/cancel` comes first, then `cancelled` for the permission request."""
    async with talking("asks_unknown_call", tmp_path, option="later") as talk:
        answer = talk.begin("")
        await asyncio.wait_for(talk.listener.question.wait(), PATIENCE)
        talk.agent.cancel(talk.session_id)
        talk.listener.answer.set_result(None)
        assert (await answer, talk.listener.text) == (PromptResult("cancelled"), "cancelled")


async def test_permission_request_is_dropped_when_the_agent_cancels_it(tmp_path: Path) -> None:
    """The agent receives -32800, and the turn goes on."""
    async with talking("gives_up", tmp_path, option="later") as talk:
        assert (await talk.prompt(), talk.listener.text) == (PromptResult("end_turn"), "-32800")


async def test_stopping_an_agent_fails_its_turn_and_tells_the_listener(tmp_path: Path) -> None:
    """Even if the agent ignores it."""
    async with talking("deaf", tmp_path) as talk:
        answer = talk.begin("")
        await asyncio.wait_for(talk.listener.spoken.wait(), PATIENCE)
        await talk.agent.stop(patience=0.1)
        with pytest.raises(AgentDied, match="deaf was stopped"):
            await answer
        assert (talk.agent.closed, str(talk.listener.error)) == (
            True,
            str(AgentDied("deaf was stopped. The agent restarts with your next message.")),
        )


async def test_login_error_lists_the_ways_to_sign_in(tmp_path: Path) -> None:
    """ACP error -32000: the message has the login methods and the line to type."""
    agent = await Agent.launch(scripted("needs_login", login="scripted login"), cwd=tmp_path)
    try:
        with pytest.raises(AuthenticationRequired) as failure:
            await agent.open_session(OpenRequest(cwd=str(tmp_path)), RecordingListener())
    finally:
        await agent.stop(patience=0.5)
    assert str(failure.value) == (
        "Sign in to needs_login to continue. Ways to sign in: Log in with a browser; API key (set SCRIPTED_KEY). "
        "Type `scripted login` in a terminal, then try again."
    )


async def test_refused_prompt_says_why_without_secrets(tmp_path: Path) -> None:
    """The error keeps code and data, but not the key."""
    async with talking("refuses", tmp_path, env={"SCRIPTED_API_KEY": "sk-12345678"}) as talk:
        with pytest.raises(AgentRefused) as failure:
            await talk.prompt()
        message = "refuses returned an error: Internal error (the model does not like key ***)."
        assert (str(failure.value), failure.value.code) == (message, -32603)


async def test_unknown_or_unoffered_method_is_refused(tmp_path: Path) -> None:
    """-32601, also if it was not offered."""
    requests = [
        ["session/share", {}],
        ["fs/read_text_file", {"path": "a"}],
        ["terminal/create", {"command": "ls"}],
    ]
    capabilities = Capabilities(read_text_file=False)
    async with talking("works", tmp_path, capabilities=capabilities) as talk:
        await talk.prompt(json.dumps(requests))
        codes = [json.loads(line).get("code") for line in talk.listener.text.splitlines()]
        assert codes == [-32601, -32601, None]


async def test_large_stderr_does_not_block_the_turn(tmp_path: Path) -> None:
    """All of it is read; the last line is kept."""
    async with talking("noisy", tmp_path) as talk:
        await talk.prompt()
        await talk.agent.stop(patience=0.5)
        assert talk.agent.process is not None
        tail = talk.agent.process.stderr_tail
        assert (tail.endswith("the last line"), len(tail) <= 800) == (True, True)


async def test_opening_a_session_times_out(tmp_path: Path) -> None:
    agent = await Agent.launch(scripted("deaf"), cwd=tmp_path)
    try:
        with pytest.raises(AgentError, match="did not answer session/new within 0 s"):
            await agent.open_session(OpenRequest(cwd=str(tmp_path)), RecordingListener(), timeout=0)
        agent.cancel("nothing")
    finally:
        await agent.stop(patience=0.5)


async def test_closed_session_delivers_no_updates(tmp_path: Path) -> None:
    async with talking("echo", tmp_path) as talk:
        await talk.agent.close_session(talk.session_id)
        await talk.prompt("Hello")
        assert talk.listener.heard == []


async def test_old_session_id_that_another_session_uses_is_refused(tmp_path: Path) -> None:
    """A restarted agent may count its sessions from 1 again: no session may get another's text."""
    agent = await Agent.launch(find("eliza"), cwd=tmp_path)
    try:
        one, former, two = RecordingListener(), RecordingListener(), RecordingListener()
        new = OpenRequest(cwd=str(tmp_path))
        first = await agent.open_session(new, one)
        with pytest.raises(AgentRefused, match="another tab"):
            await agent.open_session(replace(new, way="resume", former=first.session_id), former)
        old, second = await asyncio.gather(
            agent.open_session(replace(new, way="resume", former="sess-2"), former),
            agent.open_session(new, two),
            return_exceptions=True,
        )
        assert isinstance(old, AgentRefused)
        assert isinstance(second, SessionOpened)
        assert second.session_id == "sess-2"
        for session, listener in ((first, one), (second, two)):
            ended = asyncio.Event()
            agent.prompt(session.session_id, saying(f"/say {session.session_id}"), lambda *_, ended=ended: ended.set())
            await ended.wait()
            assert listener.text == session.session_id
        assert former.heard == []
    finally:
        await agent.stop()


async def test_listener_answers_the_extension_method_it_knows(tmp_path: Path) -> None:
    """The session's listener answers, or any without a session; an unknown method is an error."""
    requests = [["_x/twice", {"value": 4}], ["_x/thrice", {"value": 4}]]
    async with talking("works", tmp_path) as talk:
        await talk.prompt(json.dumps(requests))
        answers = [json.loads(line) for line in talk.listener.text.splitlines()]
        assert (answers[0], answers[1]["code"]) == ({"twice": 8}, -32601)
        method, params = talk.listener.extensions[0]
        assert (method, params["value"]) == ("_x/twice", 4)


async def test_session_that_opens_too_late_is_closed(tmp_path: Path) -> None:
    """The agent gets `$/cancel_request`; the session that it still opens is closed and ignored."""
    spec = scripted("keeps")
    spec = type(spec)(name="keeps", title="keeps", command=(*spec.command, "late", "close"))
    agent = await Agent.launch(spec, cwd=tmp_path)
    try:
        listener = RecordingListener()
        with pytest.raises(AgentError, match=r"did not answer session/new within 0\.1 s"):
            await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener, timeout=0.1)
        new = await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener)
        ended = asyncio.Event()
        agent.prompt(new.session_id, saying("tell"), lambda *_: ended.set())
        await asyncio.wait_for(ended.wait(), PATIENCE)
        requests = [json.loads(line) for line in listener.text.splitlines()]
        methods = [each["method"] for each in requests]
        opening = ["initialize", "session/new", "$/cancel_request", "session/new"]
        assert methods == [*opening, "session/close", "session/prompt"]
        assert next(each for each in requests if each["method"] == "session/close")["params"] == {
            "sessionId": "too-late"
        }
    finally:
        await agent.stop(patience=0.5)


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 30])
async def test_cancelled_launch_leaves_no_process_and_no_task(tmp_path: Path, turns: int) -> None:
    """At any moment: while the process starts, or during `initialize`."""
    before, guarded = asyncio.all_tasks(), GUARD.groups
    launch = asyncio.ensure_future(Agent.launch(scripted("silent"), cwd=tmp_path))
    for _ in range(turns):
        await asyncio.sleep(0)
    launch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await launch
    assert asyncio.all_tasks() == before
    assert guarded == GUARD.groups


async def test_update_after_a_config_response_is_applied_last(tmp_path: Path) -> None:
    """Both come in one read; the older response is applied first."""
    async with talking("changes_its_mind", tmp_path) as talk:
        heard = talk.listener.heard
        await talk.agent.set_config_option(talk.session_id, "size", "large", heard.extend)
        changes = [each for each in heard if isinstance(each, XConfigOptionsChanged)]
        assert [each.config_options[0]["currentValue"] for each in changes] == ["large", "small"]
