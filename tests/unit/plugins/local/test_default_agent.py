"""The local model as the default agent of a conversation.

The inside: asking for the default from outside would use it, and so change it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentnb import Session
from agentnb.agent.catalog import find
from agentnb.configuration.write import change_setting
from agentnb.host import Host
from tests import known_agent
from tests.unit.plugins.local.conftest import SERVER

PATIENCE = 60


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the prefix of installed agents; no other folder has programs of agents."""
    folder = tmp_path / "prefix"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("AGENTNB_CONFIG_DIR", str(tmp_path / "config"))
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a model server that a test can stop; no other is found."""
    with subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        monkeypatch.setenv("AGENTNB_LOCAL_PORTS", str(json.loads(process.stdout.readline())["ollama"]))
        yield process


def default(log: Path) -> str:
    """Returns the default agent of a new kernel."""
    host = Host(log=log)
    try:
        return host.loop.submit(host.default_agent.find()).result(PATIENCE)
    finally:
        host.close()


def test_last_used_local_model_is_default_while_its_server_runs(
    prefix: Path, server: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """If there is no other agent it stays the default, and its error says what to start."""
    log = tmp_path / "log/sessions.db"
    host = Host(log=log)
    try:
        session = Session(host.loop.call(lambda: host.open(find("local"), cwd=tmp_path)))
        assert session.prompt("Hello").wait(PATIENCE).state == "complete"
    finally:
        host.close()
    known_agent.install(prefix, "goose", "moody")
    assert default(log) == "local"
    server.communicate()
    assert default(log) == "goose"
    change_setting("agent", "local")
    assert default(log) == "local"
    change_setting("agent", "")
    (prefix / "bin/goose").unlink()
    assert default(log) == "local"


def test_local_model_is_default_again_when_its_server_starts(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_agent.install(prefix, "goose", "moody")
    monkeypatch.setenv("AGENTNB_LOCAL_URL", "http://127.0.0.1:1/v1")
    host = Host()
    try:
        host.loop.call(host.default_agent.used, "local")
        assert host.loop.submit(host.default_agent.find()).result(PATIENCE) == "goose"
        with subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())["ollama"]
            monkeypatch.setenv("AGENTNB_LOCAL_URL", f"http://127.0.0.1:{port}/v1")
            assert host.loop.submit(host.default_agent.find()).result(PATIENCE) == "local"
            process.communicate()
    finally:
        host.close()
