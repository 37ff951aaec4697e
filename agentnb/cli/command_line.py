"""The command line: `agentnb COMMAND`.

Every command is an entry in `COMMANDS`; from the entries come the parser, its help and `docs/reference/cli.md`. What a
command needs is imported when it runs, so `agentnb --version` stays quick and `agentnb eliza` pays for nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from agentnb import __version__
from agentnb.cli import conversations, programs, setup
from agentnb.cli.exit_code import exit_code_of
from agentnb.command import MISUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    command.name: command
    for command in sorted(
        (*setup.COMMANDS, *conversations.COMMANDS, *programs.COMMANDS), key=lambda command: command.name
    )
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: What was typed after `agentnb`; by default the process's own arguments.

    Returns:
        The exit code: 0 done, 1 failed, 2 typed wrongly, 130 interrupted.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return MISUSED
    if os.environ.get("AGENTNB_EVENTS"):
        from agentnb.events.event_file import write_down

        write_down()
    return exit_code_of(lambda: COMMANDS[arguments.run].run(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentnb", description="Coding agents in the notebook.")
    parser.add_argument("--version", action="version", version=f"agentnb {__version__}")
    subparsers = parser.add_subparsers(dest="run", metavar="COMMAND")
    for command in COMMANDS.values():
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=f"{command.summary} {command.details}"
        )
        for option in command.options:
            option.add_to(subparser)
        if command.words is not None:
            subparser.add_argument("words", nargs="*", metavar=command.words[0], help=command.words[1])
    return parser
