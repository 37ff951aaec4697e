"""The life of a session: new, load, resume, fork, list, close; modes, options, login."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import AvailableCommandsUpdate, SessionInfoUpdate, ToolCallProgress, UserMessageChunk

from agentnb.plugins.acp_agent.agent import PAGE
from agentnb.plugins.eliza.commands.every_command import listed
from tests.unit.plugins.eliza.patient import Patient, visit

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def refused(call: Any) -> tuple[int, str]:
    """The code and the message with which a call is refused."""
    with pytest.raises(acp.RequestError) as error:
        await call
    return error.value.code, str(error.value)


async def test_initialize() -> None:
    """Initialize tells its name and what it can do."""
    async with visit() as patient:
        told = await patient.connection.initialize(99)
    assert told.protocol_version == 1
    assert told.agent_info is not None
    assert (told.agent_info.name, told.agent_info.title) == ("eliza", "ELIZA")
    assert told.agent_capabilities is not None
    assert told.agent_capabilities.load_session is True
    assert told.auth_methods == []


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


async def test_new_session(patient: Patient) -> None:
    """A new session offers modes and options."""
    new = await patient.connection.new_session(cwd="/work", mcp_servers=[])
    assert new.modes is not None
    assert new.modes.current_mode_id == "doctor"
    assert [mode.id for mode in new.modes.available_modes] == ["doctor", "plain"]
    assert [option.id for option in new.config_options or []] == ["pace", "pieces", "thoughts"]


async def test_set_mode_and_options(patient: Patient) -> None:
    """The client can set mode and options."""
    session = await patient.session()
    await patient.connection.set_session_mode(session_id=session, mode_id="plain")
    told = await patient.connection.set_config_option(session_id=session, config_id="pieces", value="whole")
    await patient.connection.set_config_option(session_id=session, config_id="thoughts", value=True)
    await patient.prompt(session, "one two")
    assert [option.current_value for option in told.config_options] == ["instant", "whole", False]
    assert [chunk.content.text for chunk in patient.chunks(session)] == ["one two"]
    assert patient.thoughts(session) == "I am to give back what I was told."


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda client, session: client.set_session_mode(session_id=session, mode_id="nap"),
            (-32602, "There is no mode `nap`; it can be `doctor`, `plain`."),
        ),
        (
            lambda client, session: client.set_config_option(session_id=session, config_id="pace", value="x"),
            (-32602, "`pace` has no value `x`; it can be `instant`, `natural`."),
        ),
        (
            lambda client, _: client.prompt(session_id="sess-none", prompt=[]),
            (-32602, "There is no open session `sess-none`."),
        ),
        (
            lambda client, _: client.load_session(cwd="/", session_id="sess-none", mcp_servers=[]),
            (-32002, "There is no session `sess-none`."),
        ),
        (lambda client, _: client.authenticate(method_id="couch"), (-32602, "There is no login method `couch`.")),
    ],
)
async def test_refusals(patient: Patient, call: Callable[[Any, str], Any], expected: tuple[int, str]) -> None:
    """What is not there is refused by name."""
    assert await refused(call(patient.connection, await patient.session())) == expected


async def test_close(patient: Patient) -> None:
    """A closed session takes no prompt but can be loaded."""
    session = await patient.session()
    await patient.prompt(session, "/say hello")
    await patient.connection.close_session(session_id=session)
    assert await refused(patient.prompt(session, "x")) == (-32602, f"There is no open session `{session}`.")
    patient.updates.clear()
    await patient.connection.load_session(cwd="/work", session_id=session, mcp_servers=[])
    assert patient.text(session) == "hello"


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


async def test_resume(patient: Patient) -> None:
    """Resume goes on without a replay."""
    session = await patient.session()
    await patient.prompt(session, "my cat is ill")
    await patient.connection.close_session(session_id=session)
    patient.updates.clear()
    await patient.connection.resume_session(session_id=session, cwd="/work", mcp_servers=[])
    assert patient.of(session, UserMessageChunk) == []
    await patient.prompt(session, "hm")
    assert patient.text(session) == "Earlier you spoke of your cat. Does this have to do with it?"


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
        await patient.prompt(await patient.session("/there"), "What is this about?")
        first = await patient.connection.list_sessions()
        second = await patient.connection.list_sessions(cursor=first.next_cursor)
        there = await patient.connection.list_sessions(cwd="/there")
    numbers = [info.session_id for info in (*first.sessions, *second.sessions)]
    assert numbers == [f"sess-{number}" for number in range(PAGE + 2, 0, -1)]
    assert (len(first.sessions), second.next_cursor) == (PAGE, None)
    assert [(info.title, info.cwd) for info in there.sessions] == [("What is this about?", "/there")]


async def test_login() -> None:
    """A login is wanted when the environment says so."""
    async with visit(env={"AGENTNB_ELIZA_LOGIN": "1"}) as patient:
        told = await patient.connection.initialize(1)
        assert [method.id for method in told.auth_methods or []] == ["couch"]
        assert (await refused(patient.session()))[0] == -32000
        await patient.connection.authenticate(method_id="couch")
        assert await patient.session() == "sess-1"


async def test_delete(patient: Patient) -> None:
    """A deleted session is gone, with the turn that runs in it."""
    session = await patient.session()
    turn = asyncio.ensure_future(patient.prompt(session, "/hang"))
    await patient.until(lambda: bool(patient.chunks(session)))
    await patient.request("session/delete", {"sessionId": session})
    assert (await turn).stop_reason == "cancelled"
    wanted = (-32002, f"There is no session `{session}`.")
    assert await refused(patient.request("session/delete", {"sessionId": session})) == wanted
    assert await refused(patient.connection.load_session(cwd="/work", session_id=session, mcp_servers=[])) == wanted
    assert (await refused(patient.request("session/delete", {})))[0] == -32602


async def test_delete_in_a_folder(tmp_path: Path) -> None:
    """Its file is deleted, too."""
    async with visit(env={"AGENTNB_ELIZA_STORE": str(tmp_path)}) as patient:
        session = await patient.session()
        await patient.prompt(session, "/say x")
        await patient.request("session/delete", {"sessionId": session})
    assert not (tmp_path / "sess-1.json").exists()


async def test_logout() -> None:
    """After a logout a login is wanted again; without one there is nothing to log out of."""
    async with visit(env={"AGENTNB_ELIZA_LOGIN": "1"}) as patient:
        told = await patient.connection.initialize(1)
        assert told.agent_capabilities is not None
        assert told.agent_capabilities.auth is not None
        assert told.agent_capabilities.auth.logout is not None
        await patient.connection.authenticate(method_id="couch")
        await patient.session()
        await patient.request("logout", {})
        assert (await refused(patient.session()))[0] == -32000
    async with visit() as patient:
        assert (await refused(patient.request("logout", {})))[0] == -32601


async def test_a_request_that_is_taken_back_disturbs_nothing(patient: Patient) -> None:
    """`$/cancel_request` is passed over without a word on stderr."""
    await patient.write({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}})
    assert await patient.hear("/say and on") == "and on"


async def test_extension_methods(patient: Patient) -> None:
    """One is known; a notification never disturbs."""
    await patient.connection.ext_notification("eliza/mood", {})
    assert await patient.connection.ext_method("eliza/echo", {"a": 1}) == {"echo": {"a": 1}}
    assert (await refused(patient.connection.ext_method("eliza/nothing", {})))[0] == -32601
