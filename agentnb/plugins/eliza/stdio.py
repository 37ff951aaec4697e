"""eliza as a program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentnb.plugins.acp_agent.stdio import serve
from agentnb.plugins.acp_agent.store import open_store
from agentnb.plugins.eliza.agent import Eliza

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.client import Client

STORE_VARIABLE = "AGENTNB_ELIZA_STORE"
"""Environment: a folder that keeps the sessions; without it they live as long as the process."""

LOGIN_VARIABLE = "AGENTNB_ELIZA_LOGIN"
"""Environment: ``1`` makes eliza refuse new sessions until the client has called `authenticate`."""


def main(version: str) -> None:
    """Serve one client until it closes stdin."""
    store = open_store(os.environ.get(STORE_VARIABLE))
    wants_login = os.environ.get(LOGIN_VARIABLE) == "1"

    def make(client: Client) -> Eliza:
        return Eliza(store, client, version=version, wants_login=wants_login)

    serve("eliza", make)
