"""Real agents from npm and PyPI, in a throw-away home, with a scripted model server on loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from msgspec.structs import replace

from agentnb import Session
from agentnb.agent import AgentSpec
from agentnb.agent.catalog import find
from agentnb.host import Host
from tests.peers import model
from tests.peers.agents import FURTHER, PEERS, Peer
from tests.peers.model import SCRIPT

INSTALL_SECONDS = 900
END_SECONDS = 20


@pytest.fixture(params=list(PEERS))
def peer(request: pytest.FixtureRequest) -> Peer:
    """Each real agent in turn."""
    return {**PEERS, **FURTHER}[request.param]


@pytest.fixture
def program(peer: Peer) -> str:
    """The program's path; installed once into the cache."""
    try:
        peer.install(INSTALL_SECONDS)
    except LookupError as error:
        pytest.skip(str(error))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{peer.package} {peer.version} could not be installed:\n{error.stderr[-2000:]}")
    return str(peer.executable)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def model_server(tmp_path: Path, workspace: Path) -> Iterator[str]:
    """A model server whose answers the prompt scripts: ``[[shell]]`` calls the shell tool."""
    if not SCRIPT.exists():
        pytest.skip(f"no scripted model server at {SCRIPT}")
    with model.served(tmp_path / "model.log", workspace) as address:
        yield address


@pytest.fixture
def environment(peer: Peer, model_server: str, tmp_path: Path) -> dict[str, str]:
    """The agent's environment: a separate HOME, no updates, no download of a model list."""
    return peer.at_home(tmp_path / "agent-home", model_server)


@pytest.fixture
def spec(peer: Peer, program: str) -> AgentSpec:
    """Its entry in our catalogue, with the program from the cache."""
    described = find(peer.name)
    return replace(described, command=(program, *described.command[1:]))


@pytest.fixture
def host() -> Iterator[Host]:
    """A host with an attached user; the fixture checks that the closed host leaves no process.

    A browser of an earlier test runs in this process too; the check ignores its processes.
    """
    host, before = Host(), set(psutil.Process().children())
    host.environment.connect(attached=lambda: True)
    yield host
    started = {each for child in set(psutil.Process().children()) - before for each in _with_descendants(child)}
    agents = {process for process in started if "watchdog" not in " ".join(_words(process))}
    host.close(END_SECONDS)
    _, alive = psutil.wait_procs(agents, timeout=END_SECONDS)
    assert [(process, _words(process)) for process in alive] == []


@pytest.fixture
def start(host: Host, spec: AgentSpec, environment: dict[str, str], workspace: Path) -> Any:
    """Starts a session with the agent."""

    def begin(mode: Any = "ask") -> Session:
        return Session(host.loop.call(lambda: host.open(spec, cwd=workspace, env=environment, mode=mode)))

    return begin


def _with_descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
