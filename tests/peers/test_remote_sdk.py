"""The official npm SDK: an agent behind its server, and one with the draft of version 2."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.agent import AgentSpec
from agentnb.testing import Events
from tests.conftest import ROOT
from tests.peers.agents import CACHE
from tests.peers.conftest import INSTALL_SECONDS
from tests.unit.acp.recording_listener import RecordingListener, Talk
from tests.unit.api.conftest import PATIENCE, start
from tests.unit.server.websocket.conftest import relay
from tests.unit.server.websocket.relay import Relay

__all__ = ["relay", "start"]

pytestmark = pytest.mark.peers
SDK = "2.4.0"
"""The version of `@agentclientprotocol/sdk` at npm."""
SCRIPT = ROOT / "tests/agents/sdk_server.mjs"


@pytest.fixture(scope="module")
def sdk() -> Path:
    """The folder of the SDK, installed once into the cache."""
    folder = CACHE / f"npm-sdk-{SDK}"
    if shutil.which("npm") is None:
        pytest.skip(f"npm not installed here (AGENTNB_PEERS, {CACHE})")
    if not (folder / "node_modules/ws").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}", encoding="utf-8")
        command = ["npm", "install", "--prefix", str(folder), f"@agentclientprotocol/sdk@{SDK}", "ws"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
        if done.returncode != 0:
            pytest.skip(f"@agentclientprotocol/sdk {SDK} could not be installed:\n{done.stderr[-2000:]}")
    return folder


@pytest.fixture
def reached(sdk: Path, relay: Relay) -> Iterator[Relay]:
    """The network between us and the agent."""
    with subprocess.Popen(["node", str(SCRIPT), str(sdk)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            relay.lead_to(f"http://127.0.0.1:{int(process.stdout.readline())}")
            yield relay
        finally:
            process.kill()


@pytest.mark.parametrize("scheme", ["ws", "http"])
def test_npm_sdk_agent_resumes_after_a_cut_connection(
    reached: Relay, start: Callable[..., Session], agentnb_events: Events, tmp_path: Path, scheme: str
) -> None:
    """It reads a file of this machine; after a cut connection the session continues."""
    (tmp_path / "here.txt").write_text("of this machine")
    session = start(command=[f"{scheme}://{reached.place}/acp"])
    assert session.prompt("note tulips").wait(PATIENCE).text == "noted tulips"
    assert session.prompt(f"file {tmp_path / 'here.txt'}").wait(PATIENCE).text == "of this machine"
    reached.cut()
    reached.mend()
    agentnb_events.wait_for("session.ready", how="resumed", timeout=PATIENCE)
    assert session.prompt("recall").wait(PATIENCE).text == "notes-1 knows tulips"


async def test_npm_sdk_agent_with_version_2_answers(sdk: Path, tmp_path: Path) -> None:
    from agentnb.acp.agent import Agent
    from agentnb.acp.opening import OpenRequest

    command = ("node", str(SCRIPT), str(sdk), "2")
    agent = await Agent.launch(AgentSpec(name="notes", title="Notes", command=command, protocol=2), cwd=tmp_path)
    try:
        listener = RecordingListener()
        opened = await agent.open_session(OpenRequest(cwd=str(tmp_path)), listener)
        talk = Talk(agent, opened.session_id, listener)
        assert [(await talk.prompt(words)).stop_reason for words in ("one", "two")] == ["end_turn", "end_turn"]
        assert listener.text == "said onesaid two"
    finally:
        await agent.stop(patience=0.5)
