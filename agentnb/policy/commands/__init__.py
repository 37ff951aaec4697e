"""Commands: read as a shell reads them, and rated."""

from agentnb.policy.commands.rating import Rating, rate_command

__all__ = ["Rating", "rate_command"]
