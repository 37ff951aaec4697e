"""Sessions in a shared folder, forks, lists, turns that end with their session; transcripts cover the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import acp
import pytest
from acp.schema import SessionInfoUpdate, ToolCallProgress, UserMessageChunk

from tests.unit.plugins.eliza.patient import visit

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_session_loads_in_another_process(tmp_path: Path) -> None:
    """The whole conversation is replayed in order."""
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


async def test_session_list_is_ordered_and_paged() -> None:
    """The latest session comes first, by folder, and fifty a page."""
    async with visit() as patient:
        for _ in range(51):
            await patient.session("/here")
        await patient.prompt(await patient.session("/there"), "What is this about? " * 9)
        first = await patient.connection.list_sessions()
        second = await patient.connection.list_sessions(cursor=first.next_cursor)
        there = await patient.connection.list_sessions(cwd="/there")
    numbers = [info.session_id for info in (*first.sessions, *second.sessions)]
    assert numbers == [f"sess-{number}" for number in range(52, 0, -1)]
    assert (len(first.sessions), second.next_cursor) == (50, None)
    assert [(info.title, info.cwd) for info in there.sessions] == [(("What is this about? " * 9)[:47] + "…", "/there")]


async def test_official_client_calls_each_method() -> None:
    """Its models accept each answer; before login a login is required."""
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
        response = await client.set_config_option(session_id=session, config_id="thoughts", value=True)
        assert [option.current_value for option in response.config_options] == ["instant", "word", "on"]
        await patient.prompt(session, "one two")
        assert (patient.text(session), patient.thoughts(session)) == ("one two", "I am to give back what I was told.")
        await client.close_session(session_id=session)
        await client.resume_session(session_id=session, **opened)
        forked = await client.fork_session(session_id=session, **opened)
        assert forked.session_id == "sess-2"
        assert await client.ext_method("eliza/echo", {"a": 1}) == {"echo": {"a": 1}}


async def test_session_id_cannot_lead_to_another_file(tmp_path: Path) -> None:
    """The client can choose any id."""
    (tmp_path / "secret.json").write_text("{}")
    async with visit(env={"AGENTNB_ELIZA_STORE": str(tmp_path / "sessions")}) as patient:
        with pytest.raises(acp.RequestError, match="secret"):
            await patient.connection.load_session(cwd="/work", session_id="../secret", mcp_servers=[])
