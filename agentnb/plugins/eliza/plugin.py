"""The plug-in: the command `agentnb eliza`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.command import Command
from agentnb.ports import Plugin

if TYPE_CHECKING:
    import argparse


def _eliza(_: argparse.Namespace) -> int:
    from agentnb.plugins.eliza.program import run

    return run()


COMMANDS = (
    Command(
        "eliza",
        "Runs the built-in agent over stdin and stdout.",
        "It works offline, is deterministic, and can be used from any ACP client. Send /help as a prompt to list "
        "its commands. It ends when its stdin is closed.",
        _eliza,
    ),
)
PLUGIN = Plugin(name="eliza", summary="The built-in agent: offline, deterministic.", commands=COMMANDS)
