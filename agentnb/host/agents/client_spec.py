"""Programs that connect from elsewhere, described as agents: each has a conversation, a name and a log like one."""

from __future__ import annotations

import re

from agentnb.agent.catalog import AgentSpec


def client_spec(prefix: str, name: str, *, title: str, about: str, command: tuple[str, ...]) -> AgentSpec:
    """A program that is connected, as an agent.

    Args:
        prefix: How the names of such agents begin, so that none is taken for an agent of the catalogue.
        name: What the program calls itself, in whatever characters.
        title: What people read.
        about: What kind of program it is, a sentence.
        command: What it is connected through.

    Example:
        >>> client_spec("remote-", "My phone!", title="My phone", about="", command=("agentnb", "serve")).name
        'remote-my-phone'
    """
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "program"
    return AgentSpec(name=f"{prefix}{word}", title=title, about=about, command=command)
