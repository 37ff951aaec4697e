"""What the command line says of agents: which there are, how they are, and what to type."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from agentnb.api import columns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.acp.doctor import Checkup
    from agentnb.agent.catalog import AgentSpec


def row(spec: AgentSpec, path: Any) -> dict[str, Any]:
    """What is known of one agent, as JSON; *path* is where its program is, None where it is not."""
    return {
        "name": spec.name,
        "title": spec.title,
        "installed": path is not None,
        "path": None if path is None else str(path),
        "command": list(spec.command),
        "install": spec.install,
        "login": spec.login,
    }


def listing(rows: list[dict[str, Any]]) -> str:
    """The agents that are known, a line each."""
    if not rows:
        return "No agent is known."
    lines = [("NAME", "AGENT", "", "WHAT TO TYPE")]
    lines += [(row["name"], row["title"], "installed" if row["installed"] else "missing", _next(row)) for row in rows]
    return "\n".join(columns.lines(lines))


def checkups(found: Iterable[Checkup]) -> str:
    """What was found when agents were started for a moment, a line each."""
    lines = [(each.name, each.state, each.version or "-", _prescription(each)) for each in found]
    return "\n".join(columns.lines([("NAME", "STATE", "VERSION", "WHAT TO DO"), *lines]))


def _prescription(found: Checkup) -> str:
    if found.state == "ready" and found.kind == "agent":
        return f"%agent -a {found.name}"
    said = found.message.splitlines()[0] if found.message else ""
    return f"{found.todo}   ({said})" if found.todo else said


def _next(row: dict[str, Any]) -> str:
    if row["installed"]:
        return f"%agent -a {row['name']}"
    return row["install"] or f"put `{shlex.join(row['command'][:1])}` on your PATH"
