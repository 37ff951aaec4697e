"""The part of an agent's description that a cassette keeps: all that a replay needs, nothing of the machine.

The command, the environment and MCP servers are those of the machine that recorded; a replay starts none of them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agentnb.agent.catalog import AgentSpec

_KEPT = ("title", "login", "logout", "capabilities", "steering")


def description_of(spec: AgentSpec) -> dict[str, Any]:
    """The fields of *spec* that a replay needs, as JSON; those with their default value are left out."""
    every = msgspec.to_builtins(spec)
    usual = msgspec.to_builtins(AgentSpec(name="", title="", command=()))
    kept = {name: every[name] for name in _KEPT if every[name] != usual[name]}
    if isinstance(offered := kept.get("capabilities"), dict):
        kept["capabilities"] = {name: is_on for name, is_on in offered.items() if is_on != usual["capabilities"][name]}
    return kept


def recorded_spec(name: str, description: dict[str, Any]) -> AgentSpec | None:
    """The agent called *name*, as a cassette describes it; None where that makes no sense to this version."""
    kept = {field: value for field, value in description.items() if field in _KEPT}
    try:
        return msgspec.convert({"title": name, **kept, "name": name, "command": [name]}, AgentSpec)
    except msgspec.ValidationError:
        return None
