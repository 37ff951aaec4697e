"""Programs that connect from elsewhere, described as agents: each has a conversation, a name and a log like one."""

from __future__ import annotations

import re

from agentnb.agent.catalog import AgentSpec


def client_spec(prefix: str, name: str, *, title: str, about: str, command: tuple[str, ...]) -> AgentSpec:
    """A program that is connected, as an agent."""
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "program"
    return AgentSpec(name=f"{prefix}{word}", title=title, about=about, command=command)
