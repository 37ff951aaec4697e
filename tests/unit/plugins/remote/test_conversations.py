"""Conversations with an agent on the official SDK, served by the SDK's server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import agentnb
from agentnb import PermissionRequest, Session
from agentnb.state import SystemNotificationResponsePart
from agentnb.testing import Events
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel
from tests.unit.plugins.remote.serving import serving
from tests.unit.server.websocket.relay import Relay

Start = Callable[..., Session]
LARGE = 50_000_000


def notices(session: Session, turn: int = 0) -> str:
    """Returns the text of a turn's notices."""
    snapshot = session.turns[turn].snapshot
    parts = snapshot.response_parts if snapshot is not None else ()
    return " ".join(str(part.content) for part in parts if isinstance(part, SystemNotificationResponsePart))


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_remote_agent_answers_and_names_its_address(start: Start, notes: int, scheme: str) -> None:
    """Two sessions keep their words apart; one notice says that the agent cannot be confined."""
    address = f"{scheme}://127.0.0.1:{notes}/acp"
    session, other = start(command=[address]), start(command=[address])
    assert session.prompt("note tulips").wait(PATIENCE).text == "noted tulips"
    assert other.prompt("note roses").wait(PATIENCE).text == "noted roses"
    assert session.prompt("recall").wait(PATIENCE).text.endswith("knows tulips")
    assert f"runs at {address}. It runs on another machine and cannot be confined" in notices(session)
    assert "another machine" not in notices(session, -1)
    assert "another machine" in str(session.health())


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_message_of_50_megabytes_arrives_whole(start: Start, notes: int, scheme: str) -> None:
    session = start(command=[f"{scheme}://127.0.0.1:{notes}/acp"])
    assert len(session.prompt(f"large {LARGE}").wait(PATIENCE).text) == LARGE
    assert session.prompt("recall").wait(PATIENCE).text.endswith("knows ")


def test_requests_of_a_remote_agent_pass_the_policy(start: Start, notes: int, tmp_path: Path) -> None:
    """A file of the workspace is read, a command asks, a file outside is refused."""
    (tmp_path / "here.txt").write_text("of this machine")
    requests: list[PermissionRequest] = []

    def answer(request: PermissionRequest) -> str:
        requests.append(request)
        return "deny"

    session = start(command=[f"ws://127.0.0.1:{notes}/acp"], permissions=answer)
    assert session.prompt(f"file {tmp_path / 'here.txt'}").wait(PATIENCE).text == "of this machine"
    assert session.prompt("run rm -rf /").wait(PATIENCE, check=False).error is not None
    assert [request.command for request in requests] == ["rm -rf /"]


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_cancelled_turn_ends_when_the_agent_does_not_react(
    start: Start, kernel: Kernel, notes: int, scheme: str
) -> None:
    """The cancel is sent; an agent that ignores it is left."""
    session = start(command=[f"{scheme}://127.0.0.1:{notes}/acp"])
    kernel.hurry(session, cancel=0.5)
    turn = session.prompt("wait")
    assert next(iter(turn)) == "Waiting."
    turn.cancel()
    assert turn.wait(PATIENCE, check=False).state == "cancelled"
    if scheme == "ws":  # over HTTP the SDK's server refuses prompts until it has answered the stopped turn
        assert session.prompt("note tulips").wait(PATIENCE).text == "noted tulips"


def test_lost_connection_resumes_the_same_session(
    start: Start, notes: int, relay: Relay, agentnb_events: Events
) -> None:
    """The turn has a notice; its earlier text is there once, and the agent remembers it."""
    relay.lead_to(f"ws://127.0.0.1:{notes}")
    session = start(command=[f"ws://{relay.place}/acp"])
    session.prompt("note tulips").wait(PATIENCE)
    turn = session.prompt("wait")
    assert next(iter(turn)) == "Waiting."
    relay.cut()
    ended = turn.wait(PATIENCE, check=False)
    assert "was lost" in str(ended.error)
    relay.mend()
    agentnb_events.wait_for("session.ready", how="loaded", timeout=PATIENCE)
    assert session.prompt("recall").wait(PATIENCE).text.endswith("knows tulips")
    assert [each.text for each in session.turns][:2] == ["noted tulips", "Waiting."]
    assert len(session.turns) == 3


def test_remote_agent_gets_no_local_mcp_servers(start: Start, notes: int) -> None:
    """It cannot start programs of this machine; a notice names the omitted servers."""
    server = {"name": "files", "command": "mcp-files"}
    session = start(command=[f"ws://127.0.0.1:{notes}/acp"], mcp_servers=[server])
    received = json.loads(session.prompt("meet").wait(PATIENCE).text)
    assert received["servers"] == []
    assert "cannot reach these MCP servers: files" in notices(session)


def test_description_sets_address_token_and_remote_folder(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token comes from a variable and is never shown."""
    token = "t0ken-of-notes-8472"
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "conf"))
    monkeypatch.setenv("NOTES_PASS", token)
    (tmp_path / "conf/agents").mkdir(parents=True)
    with serving("sdk_server", SDK_SERVER_TOKEN=token) as port:
        text = f'name = "notes"\ntitle = "Notes"\nurl = "ws://127.0.0.1:{port}/acp"\n'
        described = tmp_path / "conf/agents/notes.toml"
        described.write_text(f'{text}token_variable = "NOTES_PASS"\nfolder = "/srv/notes"\n', encoding="utf-8")
        assert [row.command for row in agentnb.agents() if row.name == "notes"] == [f"ws://127.0.0.1:{port}/acp"]
        session = start(agent="notes")
        assert json.loads(session.prompt("meet").wait(PATIENCE).text)["cwd"] == "/srv/notes"
        assert token not in repr([turn.snapshot for turn in session.turns]) + repr(session.state)
        described.write_text(text, encoding="utf-8")
        with pytest.raises(agentnb.AgentnbError, match=r"Notes: 127.0.0.1:\d+ wants a token \(HTTP 403\)"):
            start(agent="notes").prompt("meet").wait(PATIENCE)
        monkeypatch.setenv("NOTES_PASS", "wrong-one-1234")
        described.write_text(f'{text}token_variable = "NOTES_PASS"\n', encoding="utf-8")
        with pytest.raises(agentnb.AgentnbError, match=r"refused the token \(HTTP 403\).*NOTES_PASS") as refused:
            start(agent="notes").prompt("meet").wait(PATIENCE)
        assert "wrong-one" not in str(refused.value)
