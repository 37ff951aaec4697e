"""Whether a model server is there, found out before the local model becomes the default agent."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentnb.plugins.local.settings import LocalSettings

_CONNECT_SECONDS = 1.0
_NOBODY = "No model server answers."


async def why_not_ready(environ: Mapping[str, str]) -> str:
    """Returns why no server could answer now; empty where one is there, though it may have no model."""
    from agentnb.plugins.local.settings import BadSettings, read_settings

    try:
        settings = read_settings(environ=environ)
    except BadSettings as error:
        return str(error)
    if settings.url is not None:
        return await _look(settings)
    listening = await asyncio.gather(*map(_listens, settings.ports))  # before the HTTP client is loaded
    return await _look(settings) if any(listening) else _NOBODY


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), _CONNECT_SECONDS)
    except (OSError, asyncio.TimeoutError):
        return False
    writer.close()
    return True


async def _look(settings: LocalSettings) -> str:
    await asyncio.to_thread(import_module, "agentnb.plugins.local.discovery")  # loads the HTTP client
    from agentnb.plugins.local.discovery import look_once

    found = await look_once(settings)
    is_there = found.servers or any(each.status is not None for each in found.troubles)
    return "" if is_there else _NOBODY
