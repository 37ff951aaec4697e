"""The agent as a program."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from agentnb.folders import data_folder
from agentnb.plugins.acp_agent.session import open_store
from agentnb.plugins.acp_agent.stdio import serve
from agentnb.plugins.local.agent import LocalAgent

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.session import SessionStore
    from agentnb.plugins.local.settings import LocalSettings


def main(version: str, settings: LocalSettings) -> None:
    """Serve one client until it closes stdin."""
    serve("local", partial(LocalAgent, _store(), version=version, settings=settings))


def _store() -> SessionStore:
    """Returns the folder of conversations; if it cannot be made, they live as long as the process."""
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
