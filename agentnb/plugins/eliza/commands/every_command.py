"""Every command of eliza: importing this module registers them all."""

from agentnb.plugins.eliza.commands import actions, components, controls, faults, requests, speech
from agentnb.plugins.eliza.commands.registry import COMMANDS, GROUPS, Command, Misuse, find, listed

__all__ = [
    "COMMANDS",
    "GROUPS",
    "Command",
    "Misuse",
    "actions",
    "components",
    "controls",
    "faults",
    "find",
    "listed",
    "requests",
    "speech",
]
