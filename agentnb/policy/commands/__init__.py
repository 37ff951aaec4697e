"""Commands: read as a shell reads them, and rated."""

from agentnb.policy.commands.rating import LONGEST_COMMAND, Rating, rate_command

__all__ = ["LONGEST_COMMAND", "Rating", "rate_command"]
