"""The variables that an agent inherits: everything but access to Jupyter servers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import agentnb
from tests.unit.api.conftest import AGENTS, PATIENCE

SECRET = ["JUPYTER_TOKEN", "JUPYTER_PASSWORD", "CONFIGPROXY_AUTH_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN"]
PREFIXED = [f"{prefix}{rest}" for prefix in ("JPY_", "JUPYTERHUB_", "JUPYTER_SERVER_", "JUPYTER_GATEWAY_")
            for rest in ("", "URL", "X_9", "_")]  # fmt: skip
OTHER = ["ANTHROPIC_API_KEY", "JUPYTER_CONFIG_DIR", "JUPYTER_PATH", "HTTPS_PROXY", "JUPYTERHUB", "MINE", "HOME"]


def test_agent_inherits_all_but_access_to_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No token or password and no variable of a server, a hub or a gateway; except one that is set for this agent."""
    for name in (*SECRET, *PREFIXED, *OTHER):
        monkeypatch.setenv(name, f"the user's {name}")
    command, env = [sys.executable, str(AGENTS / "tells_environment.py")], {"JPY_API_TOKEN": "ours", "MINE": "ours"}
    with agentnb.start(command=command, cwd=tmp_path, env=env) as session:
        found = json.loads(session.prompt("what?").wait(PATIENCE).text)
    assert {name: found.get(name) for name in OTHER} == {name: f"the user's {name}" for name in OTHER} | {
        "MINE": "ours"
    }
    assert {name for name in (*SECRET, *PREFIXED) if name in found} == {"JPY_API_TOKEN"}
    assert found["JPY_API_TOKEN"] == "ours"
    assert found["PATH"].split(os.pathsep)[-1] == str(Path(sys.executable).parent)  # for programs from wheels, as uv
