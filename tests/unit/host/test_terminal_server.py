"""The program that an agent in a terminal starts (``agentnb mcp``), as a separate process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentnb import PermissionQuestion, Session
from agentnb.host import Host
from agentnb.kernel.tools import kernel_tools
from tests.mcp_client import McpClient, said
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.conftest import until
from tests.unit.kernel.shell_tools import Tools, waited_for


@pytest.fixture
def paired(attended: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A paired host with a shell and an attached user."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", "work/fit.ipynb")
    tools = Tools()
    tools.shell.user_ns["xs"] = [1]
    attended.environment.connect(shell=tools)
    attended.environment.job_queue.is_main_thread_busy = lambda: False
    attended.environment.job_queue.schedule = lambda _call: None
    attended.loop.submit(attended.pairing.start()).result(PATIENCE)
    return attended


def session_of(host: Host) -> Session:
    return Session(host.loop.call(lambda: host.pairing.connected[0]))


def test_terminal_agent_chooses_a_notebook_and_calls_tools(paired: Host) -> None:
    """By its name; a call waits for the user's answer, says so, and can be cancelled."""
    paired.pairing.progress_seconds = 0.01
    with McpClient("--notebook", "plot") as client:
        assert client.server["protocolVersion"] == "2025-06-18"
        assert client.tools() == ["paired_notebooks", "use_notebook", *kernel_tools()]
        assert client.call("paired_notebooks") == f"- work/fit.ipynb (kernel {os.getpid()} in {Path.cwd()}; idle)"
        assert client.call("variables").startswith("No paired notebook is called 'plot'. These are paired:")
        assert "is a string" in client.call("use_notebook", notebook="")
        assert client.call("use_notebook", notebook="fit").startswith("The tools work on work/fit.ipynb")
        session = session_of(paired)
        assert session.title == "Claude Code (terminal)"
        with pytest.raises(RuntimeError, match="Unknown tool: rm"):
            client.call("rm")

        cancelled = client.begin_call("run_code", code="xs.append(2)")
        until(paired, session, lambda: session.questions)
        client.notify("notifications/cancelled", requestId=client.last_id)
        until(paired, session, lambda: not session.questions)
        assert not cancelled.done()

        call = client.begin_call("run_code", code="xs.append(3); xs")
        until(paired, session, lambda: session.questions)
        client.until_told("run_code", "Waiting for your answer in the notebook's chat.")
        (question,) = session.questions
        assert isinstance(question, PermissionQuestion)
        question.allow()
        assert said(waited_for(paired.environment.job_queue, call)) == "[1, 3]"


def test_killed_client_leaves_no_pending_call(paired: Host) -> None:
    """Its card is withdrawn; a client that only exits is gone, too."""
    client = McpClient(name="codex-mcp-client")
    client.call("use_notebook", notebook="fit")
    session = session_of(paired)
    client.begin_call("run_code", code="xs.append(2)")
    assert session.title == "Codex (terminal)"
    until(paired, session, lambda: session.questions)
    client.kill()
    until(paired, session, lambda: not session.questions)
    assert [turn.state for turn in session.turns] == ["cancelled"]
    again = McpClient(name="codex-mcp-client")
    again.call("use_notebook", notebook="fit")
    assert session_of(paired).tab_id == session.tab_id
    assert again.close() == 0
