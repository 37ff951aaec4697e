"""Every command of eliza: importing this module registers them all."""

from agentnb.plugins.eliza.commands import actions, components, controls, faults, requests, speech
from agentnb.plugins.eliza.commands.registry import COMMANDS, GROUPS, Misuse, find, listed

__all__ = ["COMMANDS", "GROUPS", "Misuse", "find", "listed"]

del actions, components, controls, faults, requests, speech
