"""The plug-in: the command `agentnb remote`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentnb.command import Command, Option, complain
from agentnb.distribution import manual
from agentnb.ports import Plugin

if TYPE_CHECKING:
    import argparse


def _remote(arguments: argparse.Namespace) -> int:
    from agentnb.agent.elsewhere import check_address
    from agentnb.errors import AgentnbError

    variable: str | None = arguments.token_variable
    token = os.environ.get(variable) if variable else None
    try:
        check_address(arguments.url, unencrypted=arguments.unencrypted)
    except AgentnbError as error:
        return complain(str(error))
    if variable and not token:
        return complain(
            f"The variable {variable}, which holds the token, is not set.\nSet it before the kernel starts."
        )
    try:
        from agentnb.plugins.remote.bridge import main
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"websockets", "httpx"}:
            raise
        return complain(f"This needs the package {error.name}.\nInstall it: pip install 'jupyter-agentnb[serve]'.")
    return main(arguments.url, token, variable)


COMMANDS = (
    Command(
        "remote",
        "Connects to an agent on another machine, and passes its messages over stdin and stdout.",
        "The agent is reached over WebSocket (wss://) or over HTTP with events (https://), as described in the "
        "Agent Client Protocol's proposal for remote transports. Any ACP client can start this."
        f" See {manual('how-to/remote-agents')}",
        _remote,
        (
            Option("--token-variable", "the variable that contains the token (Authorization: Bearer)", "VARIABLE"),
            Option("--unencrypted", "allow ws:// and http:// to another machine: others on the network can read along"),
            Option("URL", "the agent's address"),
        ),
    ),
)
PLUGIN = Plugin(name="remote", summary="Agents on other machines.", commands=COMMANDS)
