"""Agents as programs: which ones there are, and how their processes are started, watched and stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.one_at_a_time import names_at_first_use

if TYPE_CHECKING:
    from agentnb.agent.catalog import AgentSpec as AgentSpec
    from agentnb.agent.catalog import Capabilities as Capabilities
else:
    __getattr__, __dir__ = names_at_first_use(
        __name__, {"AgentSpec": "agentnb.agent.catalog", "Capabilities": "agentnb.agent.catalog"}
    )

__all__ = ["AgentSpec", "Capabilities"]
