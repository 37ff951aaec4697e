"""Sessions in a shared folder, forks, lists, turns that end with their session; the rest is in the transcripts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import AvailableCommandsUpdate, SessionInfoUpdate, ToolCallProgress, UserMessageChunk

from agentnb.plugins.acp_agent.agent import PAGE
from agentnb.plugins.eliza.commands.every_command import listed
from tests.unit.plugins.eliza.patient import Patient, visit

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_commands_are_told(patient: Patient) -> None:
    """Sessions are numbered and each is told the commands."""
    first, second = await patient.session(), await patient.session()
    assert int(second.removeprefix("sess-")) == int(first.removeprefix("sess-")) + 1
    await patient.until(lambda: bool(patient.of(second, AvailableCommandsUpdate)))
    (update,) = patient.of(second, AvailableCommandsUpdate)
    told = [(entry.name, entry.description) for entry in update.available_commands]
    assert told == [(command.name, command.summary) for command in listed()]
    hints = {entry.name: entry.input.root.hint for entry in update.available_commands if entry.input}
    assert hints == {command.name: command.hint for command in listed() if command.hint}


async def test_close_in_a_turn(patient: Patient) -> None:
    """Closing cancels the turn that runs."""
    session = await patient.session()
    turn = asyncio.ensure_future(patient.prompt(session, "/hang"))
    await patient.until(lambda: bool(patient.chunks(session)))
    await patient.connection.close_session(session_id=session)
    assert (await turn).stop_reason == "cancelled"


async def test_load_in_another_process(tmp_path: Path) -> None:
    """Load replays the whole conversation in order in another process."""
    env = {"AGENTNB_ELIZA_STORE": str(tmp_path)}
    async with visit(env=env) as first:
        session = await first.session()
        for prompt in ("my cat is ill", "/title Cats", "/tool search", "/run ls", "/config thoughts on"):
            await first.prompt(session, prompt)
    async with visit(env=env) as second:
        assert await second.session() == "sess-2"
        loaded = await second.connection.load_session(cwd="/work", session_id=session, mcp_servers=[])
        heard = [update.content.text for update in second.of(session, UserMessageChunk)]
        assert heard == ["my cat is ill", "/title Cats", "/tool search", "/run ls", "/config thoughts on"]
        assert second.text(session) == first.text(session)
        assert [call.status for call in second.tools(session)] == [call.status for call in first.tools(session)]
        assert second.of(session, ToolCallProgress)[-1].content[0].content.text == "hello\n"
        assert [update.title for update in second.of(session, SessionInfoUpdate)] == ["Cats"]
        assert loaded.config_options is not None
        assert loaded.config_options[-1].current_value is True
        second.updates.clear()
        await second.prompt(session, "hm")
        assert second.text(session) == "Earlier you spoke of your cat. Does this have to do with it?"


async def test_fork(patient: Patient) -> None:
    """A fork knows what was said and goes its own way."""
    session = await patient.session()
    await patient.prompt(session, "my cat is ill")
    forked = (await patient.connection.fork_session(session_id=session, cwd="/work", mcp_servers=[])).session_id
    for each in (forked, session):
        await patient.prompt(each, "hm")
    assert forked != session
    assert patient.text(forked) == "Earlier you spoke of your cat. Does this have to do with it?"
    assert patient.text(session).endswith(patient.text(forked))


async def test_list() -> None:
    """List gives the latest first by folder and by page."""
    async with visit() as patient:
        for _ in range(PAGE + 1):
            await patient.session("/here")
        await patient.prompt(await patient.session("/there"), "What is this about? " * 9)
        first = await patient.connection.list_sessions()
        second = await patient.connection.list_sessions(cursor=first.next_cursor)
        there = await patient.connection.list_sessions(cwd="/there")
    numbers = [info.session_id for info in (*first.sessions, *second.sessions)]
    assert numbers == [f"sess-{number}" for number in range(PAGE + 2, 0, -1)]
    assert (len(first.sessions), second.next_cursor) == (PAGE, None)
    assert [(info.title, info.cwd) for info in there.sessions] == [(("What is this about? " * 9)[:47] + "…", "/there")]


async def test_delete_in_a_folder(tmp_path: Path) -> None:
    """Its file is deleted, too."""
    async with visit(env={"AGENTNB_ELIZA_STORE": str(tmp_path)}) as patient:
        session = await patient.session()
        await patient.prompt(session, "/say x")
        await patient.request("session/delete", {"sessionId": session})
    assert not (tmp_path / "sess-1.json").exists()


async def test_the_official_client_calls_each_method() -> None:
    """Its models take each answer; a login is wanted before and after."""
    opened: dict[str, Any] = {"cwd": "/work", "mcp_servers": []}
    async with visit(env={"AGENTNB_ELIZA_LOGIN": "1"}) as patient:
        client = patient.connection
        about = await client.initialize(99)
        assert about.protocol_version == 1
        assert [method.id for method in about.auth_methods or []] == ["couch"]
        with pytest.raises(acp.RequestError, match="Authentication required"):
            await patient.session()
        await client.authenticate(method_id="couch")
        new = await client.new_session(**opened)
        assert new.modes is not None
        assert [mode.id for mode in new.modes.available_modes] == ["doctor", "plain"]
        session = new.session_id
        await client.set_session_mode(session_id=session, mode_id="plain")
        told = await client.set_config_option(session_id=session, config_id="thoughts", value=True)
        assert [option.current_value for option in told.config_options] == ["instant", "word", "on"]
        await patient.prompt(session, "one two")
        assert (patient.text(session), patient.thoughts(session)) == ("one two", "I am to give back what I was told.")
        await client.close_session(session_id=session)
        await client.resume_session(session_id=session, **opened)
        forked = await client.fork_session(session_id=session, **opened)
        assert forked.session_id == "sess-2"
        assert await client.ext_method("eliza/echo", {"a": 1}) == {"echo": {"a": 1}}
        await patient.request("session/delete", {"sessionId": session})
        await patient.request("logout", {})
        with pytest.raises(acp.RequestError, match="Authentication required"):
            await patient.session()
