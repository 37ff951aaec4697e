"""The agent as a program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentnb.folders import data_folder
from agentnb.plugins.acp_agent.stdio import serve
from agentnb.plugins.acp_agent.store import open_store
from agentnb.plugins.local.agent import LocalAgent

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.client import Client
    from agentnb.plugins.acp_agent.store import Store
    from agentnb.plugins.local.settings import Settings


def main(version: str, settings: Settings) -> None:
    """Serve one client until it closes stdin."""
    store = _store()

    def make(client: Client) -> LocalAgent:
        return LocalAgent(store, client, version=version, settings=settings)

    serve("local", make)


def _store() -> Store:
    """The folder of conversations; where it cannot be made they live as long as the process."""
    folder = data_folder() / "local" / "sessions"
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.parent.chmod(0o700)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK):
            return open_store(None)
    except OSError:
        return open_store(None)
    return open_store(str(folder))
