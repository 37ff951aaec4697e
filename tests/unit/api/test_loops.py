"""The caller's loop, made re-entrant."""

from __future__ import annotations

import asyncio

from agentnb.api.waiting import nest
from tests.unit.running import run


async def nested() -> bool:
    """Makes the running loop re-entrant."""
    return nest()


def test_nested_wait_does_not_replace_asyncio_run() -> None:
    """nest-asyncio's own version never closes its loops."""
    before = asyncio.run
    assert run(nested())
    assert asyncio.run is before
