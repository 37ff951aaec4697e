"""The command line: `agentnb COMMAND`.

Every command is an entry in `COMMANDS`; from the entries come the parser, its help and `docs/reference/cli.md`. What a
command needs is imported when it runs, so `agentnb --version` stays quick and `agentnb eliza` pays for nothing else.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentnb import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.acp.doctor import Checkup
    from agentnb.agent.catalog import AgentSpec

OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True)
class Option:
    """A flag of a command.

    Args:
        flag: As written, with its dashes.
        help: What it does, a sentence.
    """

    flag: str
    help: str


@dataclass(frozen=True)
class Command:
    """One command.

    Args:
        name: As typed.
        summary: What it does, a sentence.
        details: More about it, in markdown, paragraphs separated by empty lines.
        run: Does it; gets the parsed arguments and returns the exit code.
        options: Its flags.
        words: What may be typed behind it, any number, and what that is; empty for nothing.
    """

    name: str
    summary: str
    details: str
    run: Callable[[argparse.Namespace], int]
    options: tuple[Option, ...] = ()
    words: tuple[str, str] | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: What was typed after `agentnb`; by default the process's own arguments.

    Returns:
        The exit code: 0 done, 1 failed, 2 typed wrongly, 130 interrupted.
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return MISUSED
    try:
        return COMMANDS[arguments.command].run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; what is still buffered must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="agentnb", description="Coding agents in the notebook.")
    parser.add_argument("--version", action="version", version=f"agentnb {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in COMMANDS.values():
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=f"{command.summary} {command.details}"
        )
        for option in command.options:
            subparser.add_argument(option.flag, action="store_true", help=option.help)
        if command.words is not None:
            subparser.add_argument("words", nargs="*", metavar=command.words[0], help=command.words[1])
    return parser


def _eliza(_: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        _complain("eliza speaks ACP, not English, on stdin and stdout: start it from an ACP client. Ctrl+D ends it.")
    from agentnb.eliza.stdio import main as serve

    try:
        serve(__version__)
    except (OSError, ValueError) as error:
        return _complain(f"eliza can not start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    return OK


def _agents(arguments: argparse.Namespace) -> int:
    from agentnb.agent.catalog import installed, known
    from agentnb.errors import AgentnbError

    try:
        rows = [_row(spec, installed(spec)) for spec in known()]
    except AgentnbError as error:
        return _complain(str(error))
    if arguments.json:
        import json

        print(json.dumps(rows, indent=2))
    else:
        print(_listing(rows))
    return OK


def _doctor(arguments: argparse.Namespace) -> int:
    import asyncio

    from agentnb.acp.doctor import examine_all
    from agentnb.agent.catalog import additions, find, known
    from agentnb.errors import AgentnbError

    try:
        specs = [find(name) for name in arguments.words] if arguments.words else known()
    except AgentnbError as error:
        return _complain(str(error))
    found = asyncio.run(examine_all(specs))
    wrong = additions()[1]
    if arguments.json:
        import msgspec

        print(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        lines = [(each.name, each.state, each.version or "-", _prescription(each)) for each in found]
        print(_columns([("NAME", "STATE", "VERSION", "WHAT TO DO"), *lines]))
    for each in wrong:
        print(f"agentnb: {each}", file=sys.stderr)
    return FAILED if arguments.words and any(each.state != "ready" for each in found) else OK


def _prescription(found: Checkup) -> str:
    if found.state == "ready":
        return f"%agent -a {found.name}"
    said = found.message.splitlines()[0] if found.message else ""
    return f"{found.todo}   ({said})" if found.todo else said


def _row(spec: AgentSpec, path: Any) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "installed": path is not None,
        "path": None if path is None else str(path),
        "command": list(spec.command),
        "install": spec.install,
        "login": spec.login,
    }


def _listing(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "No agent is known."
    lines = [("NAME", "AGENT", "", "WHAT TO TYPE")]
    lines += [(row["name"], row["title"], "installed" if row["installed"] else "missing", _next(row)) for row in rows]
    return _columns(lines)


def _columns(lines: list[tuple[str, str, str, str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]]).rstrip()
        for line in lines
    )


def _next(row: dict[str, Any]) -> str:
    if row["installed"]:
        return f"%agent -a {row['name']}"
    return row["install"] or f"put `{shlex.join(row['command'][:1])}` on your PATH"


def _complain(message: str) -> int:
    print(f"agentnb: {message}", file=sys.stderr)
    return FAILED


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "agents",
            "Lists the agents that agentnb knows, which of them are installed, and what to type.",
            "An agent that is missing shows how to install it.",
            _agents,
            (Option("--json", "print everything that is known, as JSON"),),
        ),
        Command(
            "doctor",
            "Starts agents for a moment and says which work, which are missing, too old or not logged in.",
            "What to type is the exact line. With names it examines those, and fails unless all are ready. It starts"
            " programs and opens a session in an empty folder, which some agents keep in their history.",
            _doctor,
            (Option("--json", "print everything that was found, as JSON"),),
            ("NAME", "an agent's name; all that are known by default"),
        ),
        Command(
            "eliza",
            "Runs the built-in agent over stdin and stdout.",
            "It works offline, is deterministic, and can be used from any ACP client; /help in a prompt lists what it"
            " does. It ends when its stdin is closed.",
            _eliza,
        ),
    )
}
