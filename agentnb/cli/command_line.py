"""The command line: `agentnb COMMAND`.

A command imports what it needs when it runs, so `agentnb --version` stays quick and `agentnb eliza` loads nothing
else.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from agentnb import __version__
from agentnb.cli import conversations, programs, setup
from agentnb.command import FAILED, INTERRUPTED, MISUSED, complain
from agentnb.errors import AgentnbError
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentnb.command import Command

COMMANDS = {
    command.name: command
    for command in sorted(
        (*setup.COMMANDS, *conversations.COMMANDS, *programs.COMMANDS), key=lambda command: command.name
    )
}


def plugin_commands() -> dict[str, Command]:
    """Returns the commands of plug-ins, by name; they cannot replace agentnb's own commands."""
    offered = {command.name: _guarded(plugin.name, command) for plugin, command in plugins().offers("commands")}
    return {name: command for name, command in offered.items() if name not in COMMANDS}


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    commands = COMMANDS if words and words[0] in COMMANDS else {**COMMANDS, **plugin_commands()}
    parser = _parser(commands)
    arguments = parser.parse_args(argv)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        return MISUSED
    if os.environ.get("AGENTNB_EVENTS"):
        from agentnb.events.collector import write_down

        write_down()
    try:
        return commands[arguments.run].run(arguments)
    except AgentnbError as error:
        return complain(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone; flushing the buffer at exit must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _guarded(plugin: str, command: Command) -> Command:
    """Wrap a command so that its errors name its plug-in."""

    def run(arguments: argparse.Namespace) -> int:
        with plugins().guard(plugin, f"`agentnb {command.name}`"):
            return command.run(arguments)

    return command._replace(run=run)


def _parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentnb", description="Coding agents in the notebook.")
    parser.add_argument("--version", action="version", version=f"agentnb {__version__}")
    subparsers = parser.add_subparsers(dest="run", metavar="COMMAND")
    for command in commands.values():
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=f"{command.summary} {command.details}"
        )
        for option in command.options:
            option.add_to(subparser)
        if command.words is not None:
            subparser.add_argument("words", nargs="*", metavar=command.words[0], help=command.words[1])
    return parser
