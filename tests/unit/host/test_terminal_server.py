"""The program that an agent in a terminal starts (``agentnb mcp``), as a separate process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentnb import PermissionQuestion
from tests.mcp_client import McpClient, said
from tests.unit.host.kernels import Kernel
from tests.unit.host.terminal import paired
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.shell_tools import Tools

__all__ = ["paired", "tools"]  # the fixtures


@pytest.fixture(autouse=True)
def notebook(monkeypatch: pytest.MonkeyPatch, tools: Tools) -> None:
    """The notebook that the kernel runs, and a variable of it."""
    monkeypatch.setenv("JPY_SESSION_NAME", "work/fit.ipynb")
    tools.shell.user_ns["xs"] = [1]


def test_terminal_agent_chooses_a_notebook_and_calls_tools(paired: Kernel) -> None:
    """By its name; a call waits for the user's answer, says so, and can be cancelled."""
    paired.wait_less(progress=0.01)
    with McpClient("--notebook", "plot") as client:
        assert client.server["protocolVersion"] == "2025-06-18"
        own, kernels = client.tools()[:2], client.tools()[2:]
        assert (own, {"variables", "run_code"} <= set(kernels)) == (["paired_notebooks", "use_notebook"], True)
        assert client.call("paired_notebooks") == f"- work/fit.ipynb (kernel {os.getpid()} in {Path.cwd()}; idle)"
        assert client.call("variables").startswith("No paired notebook is called 'plot'. These are paired:")
        assert "is a string" in client.call("use_notebook", notebook="")
        assert client.call("use_notebook", notebook="fit").startswith("The tools work on work/fit.ipynb")
        session = paired.session_of_program()
        assert session.title == "Claude Code (terminal)"
        with pytest.raises(RuntimeError, match="Unknown tool: rm"):
            client.call("rm")

        cancelled = client.begin_call("run_code", code="xs.append(2)")
        paired.until(session, lambda: session.questions)
        client.notify("notifications/cancelled", requestId=client.last_id)
        paired.until(session, lambda: not session.questions)
        assert not cancelled.done()

        call = client.begin_call("run_code", code="xs.append(3); xs")
        paired.until(session, lambda: session.questions)
        client.until_told("run_code", "Waiting for your answer in the notebook's chat.")
        (question,) = session.questions
        assert isinstance(question, PermissionQuestion)
        question.allow()
        assert said(paired.waited_for(call)) == "[1, 3]"


def test_killed_client_leaves_no_pending_call(paired: Kernel) -> None:
    """Its card is withdrawn; a client that only exits is gone, too."""
    client = McpClient(name="codex-mcp-client")
    client.call("use_notebook", notebook="fit")
    session = paired.session_of_program()
    client.begin_call("run_code", code="xs.append(2)")
    assert session.title == "Codex (terminal)"
    paired.until(session, lambda: session.questions)
    client.kill()
    paired.until(session, lambda: not session.questions)
    assert [turn.state for turn in session.turns] == ["cancelled"]
    again = McpClient(name="codex-mcp-client")
    again.call("use_notebook", notebook="fit")
    assert paired.session_of_program().tab_id == session.tab_id
    assert again.close() == 0
