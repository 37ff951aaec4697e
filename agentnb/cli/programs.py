"""Commands that run agents and servers: the built-in agents, cassettes, and kernels for other programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentnb.command import MISUSED, OK, Command, Option, complain, write, write_json
from agentnb.distribution import manual

if TYPE_CHECKING:
    import argparse


def _mcp(arguments: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        complain(f"mcp speaks MCP on stdin and stdout: a terminal agent starts it. See {manual('how-to/pair')}")
    from agentnb.kernel.terminal_server import serve

    serve(arguments.notebook or "")
    return OK


def _record(arguments: argparse.Namespace) -> int:
    words = arguments.command
    at = words.index("--") if "--" in words else len(words)
    paths, command = words[:at], words[at + 1 :]
    if len(paths) > 1 or not command:
        print("agentnb: say which agent: agentnb record [PATH] -- COMMAND ...", file=sys.stderr)
        return MISUSED
    from agentnb.cassette.proxy import called, record

    name = arguments.name or called(command)
    path = paths[0] if paths else os.environ.get("AGENTNB_CASSETTE") or f"{name}.cassette.jsonl"
    return record(Path(path), command, name=name)


def _replay(arguments: argparse.Namespace) -> int:
    from agentnb.cassette.replayer import replay

    paced = arguments.pace == "recorded"
    return replay(arguments.path, agent=arguments.agent, launch=arguments.launch, paced=paced)


def _serve(arguments: argparse.Namespace) -> int:
    from agentnb.server.websocket.access import served_kernels
    from agentnb.server.websocket.serving import NotServed, start_in

    if arguments.kernel:
        try:
            start_in(arguments.kernel)
        except NotServed as error:
            return complain(str(error))
    kernels = served_kernels()
    if arguments.json:
        return write_json(kernels)
    if not kernels:
        return complain("no kernel is served. Run `%agents serve` in a notebook, or `agentnb serve --kernel KERNEL`.")
    return write("\n".join(line for kernel in kernels for line in kernel.lines))


def _show(arguments: argparse.Namespace) -> int:
    from agentnb.cassette.readable import readable

    try:
        sys.stdout.buffer.write(readable(arguments.path).encode("utf-8", "replace"))
    except OSError as error:
        return complain(f"{arguments.path} cannot be read: {error.strerror}.")
    return OK


COMMANDS = (
    Command(
        "mcp",
        "Gives an agent in a terminal access to the notebooks that you have paired (MCP over stdin and stdout).",
        "The agent starts this command. You are asked in the notebook before it runs anything. A kernel is reachable"
        f" once you have run `%agents pair` in its notebook. See {manual('how-to/pair')}",
        _mcp,
        (Option("--notebook", "the notebook to use; by default the only one that is paired", "NAME"),),
    ),
    Command(
        "record",
        "Runs an agent, passes all messages between it and its client, and records them in a cassette.",
        "Start it from any ACP client in place of the agent. Its exit code is the agent's.",
        _record,
        (
            Option("--name", "a name for the agent; by default its program's name", "NAME"),
            Option(
                "[PATH] -- COMMAND",
                "the cassette ($AGENTNB_CASSETTE by default, else NAME.cassette.jsonl in this folder; an"
                " existing one is replaced), and the agent",
                "...",
            ),
        ),
    ),
    Command(
        "replay",
        "Replays a cassette in place of the agent.",
        "Start it from any ACP client instead of the agent: it needs no agent, no network and no key. It sends the"
        " client the same requests again for files, terminals, permissions and answers. A prompt that differs from the"
        " recording is refused with a diff. It ends when its stdin is closed, and lists the turns that were not used.",
        _replay,
        (
            Option("PATH", "the cassette", kind=Path),
            Option("--agent", "replay only the sessions of this agent", "NAME"),
            Option("--launch", "replay only the sessions of its process number N", "N", kind=int),
            Option(
                "--pace", "without pauses (the default), or with the recorded ones", choices=("instant", "recorded")
            ),
        ),
    ),
    Command(
        "serve",
        "Lists the kernels that are served to other programs (Agent Host Protocol), or serves one.",
        "A kernel is served once you run agentnb.serve() or `%agents serve` in it, or with --kernel. The"
        f" addresses have tokens in them: treat them as passwords. See {manual('how-to/serve')}",
        _serve,
        (
            Option("--list", "list the served kernels, with an address for each client"),
            Option("--kernel", "serve this running kernel, given by its id or its connection file", "KERNEL"),
            Option("--json", "print them as JSON"),
        ),
    ),
    Command(
        "show",
        "Prints a cassette as readable text, without timing and with each text in one piece.",
        "Made for reviews: `git config diff.cassette.textconv 'agentnb show'` and the line"
        " `*.cassette.jsonl diff=cassette` in .gitattributes make `git diff` show cassettes like this.",
        _show,
        (Option("PATH", "the cassette", kind=Path),),
    ),
)
