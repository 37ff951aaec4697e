"""Downloads a model with Ollama (``/api/pull``), and tells how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.plugins.local.discovery import find_servers
from agentnb.plugins.local.server import ServerTrouble

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agentnb.plugins.local.server import ModelServer
    from agentnb.plugins.local.settings import LocalSettings


class Progress(NamedTuple):
    """The progress of a download."""

    step: str
    percent: int | None

    def __str__(self) -> str:
        return self.step if self.percent is None else f"{self.step}: {self.percent} %"


async def find_and_pull(settings: LocalSettings, name: str) -> AsyncIterator[Progress]:
    """Find the Ollama that *settings* lead to, and download the model *name* with it."""
    servers: dict[str, ModelServer] = {}
    try:
        ollama = (await find_servers(settings, servers)).pulls
        if ollama is None:
            raise ServerTrouble("No Ollama was found.", "Only Ollama can download models from here: start it.")
        async for progress in pull(ollama, name):
            yield progress
    finally:
        for server in servers.values():
            await server.close()


async def pull(server: ModelServer, name: str) -> AsyncIterator[Progress]:
    """Download the model *name*; gives each step, and each further percent."""
    last, success = None, False
    async for line in server.lines(f"{server.root}/api/pull", {"model": name, "stream": True}):
        if isinstance(error := line.get("error"), str):
            raise ServerTrouble(f"Ollama cannot download {name}: {error}", "Look up its name on ollama.com/library.")
        status = line.get("status")
        step = status[:200] if isinstance(status, str) else "working"
        success = success or step == "success"
        done, total = line.get("completed"), line.get("total")
        percent = None
        if isinstance(done, int) and isinstance(total, int) and total > 0:
            percent = min(100, done * 100 // total)
        progress = Progress(step, percent)
        if progress != last:
            last = progress
            yield progress
    if not success:
        raise ServerTrouble(
            f"The download of {name} was interrupted.", "Start it again: it continues where it stopped."
        )
