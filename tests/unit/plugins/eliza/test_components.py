"""eliza's use of MCP servers and extension methods from the client."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from acp.schema import EnvVariable, McpServerStdio

from tests.unit.plugins.eliza.patient import ROOT, Patient

pytestmark = pytest.mark.asyncio(loop_scope="module")

SERVER = str(ROOT / "tests/agents/mcp_server.py")


def server(*args: str) -> McpServerStdio:
    env = [EnvVariable(name="LEVEL", value="3")]
    return McpServerStdio(name="files", command=sys.executable, args=[SERVER, *args], env=env)


async def answer_in_session(patient: Patient, prompt: str, *servers: Any, cwd: Path = ROOT) -> str:
    """Returns the answer in a session with *servers*."""
    new = await patient.connection.new_session(cwd=str(cwd), mcp_servers=list(servers))
    await patient.prompt(new.session_id, prompt)
    return patient.text(new.session_id)


async def test_mcp_tool_runs_in_the_session_folder(patient: Patient, tmp_path: Path) -> None:
    """The tool gets the server's variables."""
    text = await answer_in_session(patient, "/mcp files where", server("x"), cwd=tmp_path)
    assert text.endswith(f'{{"args": ["x"], "cwd": "{tmp_path}", "level": "3"}}')


async def test_leftover_process_of_a_server_delays_no_answer(patient: Patient, tmp_path: Path) -> None:
    """It keeps the server's stdout open longer than the server runs."""
    await answer_in_session(patient, "/mcp files where", server("leaves"), cwd=tmp_path)
    left = psutil.Process(int((tmp_path / "left").read_text()))
    assert left.status() == psutil.STATUS_SLEEPING
    left.kill()
