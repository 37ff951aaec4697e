"""When the notebook was verified as it stands, asked of whichever plug-in answers ``verify/state``."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.ports import Request

_REQUEST = "verify/state"


def verified_at(path: Path) -> int | None:
    """When it was verified, in milliseconds since 1970; None where it was not, or was changed since."""
    for plugin, request in plugins().offers("requests"):
        if request.name == _REQUEST:
            try:
                with plugins().guard(plugin.name, "requests"), ThreadPoolExecutor(1) as thread:
                    state = thread.submit(asyncio.run, _answer(request, path)).result()
            except AgentnbError:
                return None
            return state.time if state.ok and state.status == "ended" and not state.is_stale else None
    return None


async def _answer(request: Request, path: Path) -> Any:
    answer = request.answer(request.params(path=str(path)))
    return await answer if inspect.isawaitable(answer) else answer
