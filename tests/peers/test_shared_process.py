"""Real agents with several sessions in one process: each calls its own session's kernel tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentnb.agent.catalog import AgentSpec
from agentnb.api.session import Session
from agentnb.host import Host
from tests.unit.host.conftest import uri_of
from tests.unit.kernel.shell_tools import Tools

pytestmark = pytest.mark.peers
SECONDS = 180


@pytest.mark.parametrize("peer", ["claude"], indirect=True)
def test_sessions_of_one_process_use_their_own_kernel_tools(
    host: Host, spec: AgentSpec, environment: dict[str, str], workspace: Path
) -> None:
    """In turn and at the same time.

    Not tested: opencode keeps all sessions' servers by name; Gemini CLI 0.61, Codex 2.6 and Qwen Code 0.15 call no
    kernel tool with the scripted model, so their behaviour is unknown.
    """
    host.environment.connect(shell=Tools())
    host.environment.job_queue.is_main_thread_busy = lambda: False
    options: dict[str, Any] = {"env": environment, "mode": "allow", "kernel_tools": True}
    sessions = [Session(host.loop.call(lambda: host.open(spec, cwd=workspace, **options))) for _ in range(2)]
    for session in sessions:
        session.open(SECONDS)
    assert len({session.health().pid for session in sessions}) == 1
    for together in ([0], [1], [0, 1]):
        turns = [sessions[at].prompt("[[run_code text]] Sort the rows.") for at in together]
        for turn in turns:
            assert turn.wait(timeout=SECONDS).raise_for_error().text
    allowed = [each for each in host.policy.audit.records if (each.kind, each.outcome) == ("kernel", "allow")]
    assert sorted(each.session for each in allowed) == sorted([uri_of(session) for session in sessions] * 2)
