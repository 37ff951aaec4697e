"""The plug-in: the command `agentnb local`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentnb import __version__
from agentnb.command import FAILED, OK, Command, Option, complain
from agentnb.distribution import manual
from agentnb.plugins.local.settings import why_not_ready
from agentnb.ports import AgentReadiness, Plugin

if TYPE_CHECKING:
    import argparse

    from agentnb.plugins.local.settings import LocalSettings


def _local(arguments: argparse.Namespace) -> int:
    import asyncio

    from agentnb.plugins.local.settings import BadSettings, read_settings

    try:
        options = {"url": arguments.url, "model": arguments.model, "key_variable": arguments.key_variable}
        settings = read_settings(options)
    except BadSettings as error:
        return complain(str(error))
    if arguments.check:
        from agentnb.plugins.local.connection_check import check_connection

        checked = asyncio.run(check_connection(settings))
        print("\n".join(checked.lines))
        return OK if checked.works else FAILED
    if arguments.pull:
        return asyncio.run(_pull(settings, arguments.pull))
    if sys.stdin.isatty():
        complain("the agent speaks ACP on stdin and stdout: start it from an ACP client. To test, type --check.")
    from agentnb.plugins.local.agent import main as serve

    try:
        serve(__version__, settings)
    except (OSError, ValueError) as error:
        return complain(f"the agent cannot start: {error}. An ACP client starts it with pipes for stdin and stdout.")
    return OK


async def _pull(settings: LocalSettings, name: str) -> int:
    from agentnb.plugins.local.connection_check import find_and_pull
    from agentnb.plugins.local.server import ServerTrouble

    try:
        async for progress in find_and_pull(settings, name):
            print(progress, flush=True)
    except ServerTrouble as trouble:
        return complain(str(trouble))
    return OK


COMMANDS = (
    Command(
        "local",
        "Runs the agent for a model on your own server, over stdin and stdout.",
        "It finds Ollama, LM Studio, vLLM and llama.cpp on this machine, or uses any server with the"
        f" OpenAI-compatible interface. See {manual('how-to/local-model')}",
        _local,
        (
            Option("--check", "test the connection, and report what was found, what is wrong, and what to do"),
            Option("--pull", "download a model with Ollama", "MODEL"),
            Option("--url", "the base URL; by default $AGENTNB_LOCAL_URL, or a server found on this machine", "URL"),
            Option("--model", "the model; by default $AGENTNB_LOCAL_MODEL, or the first one found", "NAME"),
            Option(
                "--key-variable",
                "the variable that contains the key; by default $AGENTNB_LOCAL_KEY_VARIABLE",
                "VARIABLE",
            ),
        ),
    ),
)
PLUGIN = Plugin(
    name="local",
    summary="An agent for a model on your own server.",
    commands=COMMANDS,
    readiness=(AgentReadiness("local", why_not_ready),),
)
