"""Real agents use a paired kernel through ``agentnb mcp`` and their own MCP clients."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentnb import PermissionQuestion, Session
from agentnb.agent import AgentSpec
from agentnb.agent.mcp import mcp_servers
from agentnb.host import Host
from agentnb.state import ChatToolCallReady, Envelope
from tests.peers.model import CODE
from tests.unit.kernel.shell_tools import Tools

pytestmark = pytest.mark.peers
SECONDS = 180


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A data folder for only this test's kernel and agent."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    return str(tmp_path / "data")


@pytest.mark.parametrize("peer", ["opencode", "claude"], indirect=True)
def test_agent_runs_code_in_a_paired_kernel_after_approval(
    host: Host, spec: AgentSpec, environment: dict[str, str], workspace: Path, data: str
) -> None:
    """The card is in a conversation named after the agent's MCP client; the agent continues with the result.

    Gemini CLI 0.61 did not call the tool here with the scripted model; the reason is unknown.
    """
    tools, is_pending = Tools(), Event()

    def listen(channel: Any, envelope: Envelope) -> None:
        if channel.uri.startswith("terminal-") and isinstance(envelope.action, ChatToolCallReady):
            is_pending.set()

    host.environment.connect(shell=tools)
    host.environment.job_queue.is_main_thread_busy = lambda: False
    host.listen(listen)
    host.loop.submit(host.pairing.start()).result(SECONDS)
    command = {"command": sys.executable, "args": ["-m", "agentnb", "mcp"], "env": {"AGENTNB_DATA_DIR": data}}
    servers = mcp_servers({"agentnb": command})
    opened = host.loop.call(lambda: host.open(spec, cwd=workspace, env=environment, mcp_servers=servers, mode="allow"))
    session = Session(opened)

    turn = session.prompt("[[run_code text]] Sort the rows.")
    assert is_pending.wait(SECONDS), "the agent did not call run_code"
    paired = Session(host.loop.call(lambda: host.pairing.connected[0]))
    (question,) = paired.questions
    assert isinstance(question, PermissionQuestion)
    assert question.command == CODE
    question.allow()
    assert turn.wait(timeout=SECONDS).raise_for_error().text
    assert tools.shell.user_ns["rows"] == [3, 1, 2]
    assert [call.status for call in paired.turns[0].tool_calls] == ["completed"]
    assert paired.title.endswith("(terminal)")
    session.close()
