"""OpenCode from npm, in a throw-away home, with a scripted model server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

CACHE = Path(os.environ.get("AGENTNB_PEERS", ROOT / ".cache/peers"))
PACKAGE = "opencode-ai"
VERSION = "1.18.33"
INSTALL_SECONDS = 600
START_SECONDS = 30


@pytest.fixture(scope="session")
def opencode() -> str:
    """The installed program's path; installed once into the cache."""
    program = CACHE / "node_modules/.bin/opencode"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm on PATH to install opencode-ai with")
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(CACHE), "--no-fund", "--no-audit", f"{PACKAGE}@{VERSION}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
        assert done.returncode == 0, f"npm could not install {PACKAGE}:\n{done.stderr}"
    return str(program)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Where the agent works."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def model_server(shared: Path, tmp_path: Path, workspace: Path) -> Iterator[int]:
    """The port of a model server whose answers are scripted by the prompt: ``[[shell]]`` calls the shell tool."""
    script = shared / "peers/fake_llm.py"
    if not script.exists():
        pytest.skip(f"no scripted model server at {script}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, str(script), str(port), str(tmp_path / "model.log"), str(workspace)]
    process = subprocess.Popen(command)
    try:
        _await_port(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(START_SECONDS)


@pytest.fixture
def environment(model_server: int, tmp_path: Path) -> dict[str, str]:
    """Environment variables that keep the agent at home: its own HOME, no updates, no model list from afar."""
    home = tmp_path / "agent-home"
    folder = home / ".config/opencode"
    folder.mkdir(parents=True)
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"http://127.0.0.1:{model_server}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    config = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "permission": {"edit": "ask", "bash": "ask"},
    }
    (folder / "opencode.json").write_text(json.dumps(config), encoding="utf-8")
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the server listens: its port refuses until then, and refusing takes no time to answer."""
    for _ in range(START_SECONDS * 10):
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        else:
            return
    pytest.fail("the scripted model server did not start")
