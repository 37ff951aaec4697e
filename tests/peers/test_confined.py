"""Whole turns of confined real agents: an edit and a command, as without confinement."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from agentnb import Session
from agentnb.agent import AgentSpec
from agentnb.agent.confinement import way_here
from agentnb.host import Host
from tests.peers.agents import FURTHER, PEERS
from tests.peers.model import COMMAND
from tests.peers.test_turns import SECONDS
from tests.unit.plugins.sandbox.test_confined_sessions import FETCH

WAY, WHY = way_here()
pytestmark = [pytest.mark.peers, pytest.mark.skipif(WAY is None, reason=WHY)]


@pytest.fixture
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the session bus: if there may be a keyring, some agents are confined on request only."""
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


@pytest.mark.usefixtures("no_keyring")
@pytest.mark.parametrize("peer", [each for each in (*PEERS, *FURTHER) if each != "codex"], indirect=True)
def test_agent_completes_a_turn_with_default_confinement(
    host: Host, spec: AgentSpec, environment: dict[str, str], workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It edits a file and runs a command in the workspace; ``health()`` shows the confinement."""
    options = replace(host.environment.default_options(spec, workspace), env=environment, mode="allow")
    assert (options.network, options.is_unasked) == ("all", True)
    began = time.monotonic()
    session = Session(host.loop.call(lambda: host.open_session(options)))
    turn = session.prompt("[[write shell text]] Please do it.").wait(timeout=SECONDS).raise_for_error()
    with capsys.disabled():
        print(f"\n{spec.name}: {time.monotonic() - began:.1f} s, {session.health().confined}")  # noqa: T201
    assert {call.status for call in turn.tool_calls} == {"completed"}
    assert (workspace / "hello.txt").exists()
    assert (workspace / "shell.txt").read_text(encoding="utf-8") == "hi-from-shell\n"
    assert session.health().confined.startswith(f"by {WAY}")


@pytest.mark.parametrize("peer", ["codex"], indirect=True)
def test_confined_codex_runs_commands_in_full_access_mode(
    host: Host, spec: AgentSpec, environment: dict[str, str], workspace: Path
) -> None:
    """In other modes they fail: its sandbox cannot start inside another."""
    open_ = host.loop.call(lambda: host.open(spec, cwd=workspace, env=environment, mode="allow", network="all"))
    session = Session(open_)
    session.set_mode("agent-full-access")
    turn = session.prompt("[[shell text]] Please do it.").wait(timeout=SECONDS).raise_for_error()
    assert [call.status for call in turn.tool_calls] == ["completed"]
    assert (workspace / "shell.txt").read_text(encoding="utf-8") == "hi-from-shell\n"
    assert session.health().confined.startswith(f"by {WAY}")


@pytest.fixture
def fetches(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's command fetches a page from a blocked host."""
    (workspace / "fetch.py").write_text(FETCH, encoding="utf-8")
    monkeypatch.setenv(COMMAND, f"{sys.executable} fetch.py http://evil.example.org/")


@pytest.mark.skipif(WAY != "Landlock", reason=WHY or f"{WAY} cannot confine to single hosts")
@pytest.mark.usefixtures("fetches")
def test_confined_agent_reaches_its_model_and_no_other_host(
    host: Host, spec: AgentSpec, model_server: str, environment: dict[str, str], workspace: Path
) -> None:
    """The model's host is the only allowed one; the agent's command cannot reach another, and the turn says so."""
    model = urlsplit(model_server).netloc
    open_ = host.loop.call(
        lambda: host.open(
            spec, cwd=workspace, env=environment, mode="allow", network=(model,), directories=(workspace.parent,)
        )
    )
    session = Session(open_)
    turn = session.prompt("[[shell text]] Please do it.").wait(timeout=SECONDS).raise_for_error()
    assert (workspace / "fetched.txt").read_text(encoding="utf-8") == "HTTP Error 403: Forbidden\n"
    assert turn.text.endswith('```python\nprint("hello")\n```\n')
    assert "was kept from connecting to evil.example.org:80" in str(turn.snapshot)
    assert f"and reaches only {model}" in session.health().confined
    assert "evil.example.org:80" in session.health().refused
