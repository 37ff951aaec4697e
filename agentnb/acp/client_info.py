"""Who agentnb is, as agents and the agents' tools are told: a module that loads nothing else."""

from __future__ import annotations

from agentnb import __version__


def own_info() -> dict[str, str]:
    """Returns who we are (ACP ``clientInfo``)."""
    return {"name": "agentnb", "title": "agentnb", "version": __version__}
