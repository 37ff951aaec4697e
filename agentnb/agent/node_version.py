"""Whether the Node on this machine is new enough for an agent; looked at when its start failed."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from agentnb.agent.programs import find_on_path
from agentnb.agent.registry import older

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.agent.catalog import AgentSpec

_NEEDED = re.compile(r"Node (\d+(?:\.\d+)*)")
_SECONDS = 5.0


def node_problem(spec: AgentSpec, env: Mapping[str, str]) -> str:
    """What Node *spec* needs and which is here, in a sentence; empty where that is not why it fails."""
    needed = _NEEDED.match(spec.requires or "")
    program = find_on_path("node", env.get("PATH")) if needed else None
    if needed is None or program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False, env=dict(env)
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    version = done.stdout.strip()
    return f"It needs {spec.requires}; here is Node {version.lstrip('v')}." if older(version, needed[1]) else ""
