"""Agents as programs: which ones there are, and how their processes are started, watched and stopped."""

from agentnb.agent.catalog import AgentSpec, Capabilities, custom, find, installed, known
from agentnb.agent.process import AgentProcess

__all__ = ["AgentProcess", "AgentSpec", "Capabilities", "custom", "find", "installed", "known"]
