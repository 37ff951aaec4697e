"""The caller's own loop, made re-entrant."""

from __future__ import annotations

import asyncio

from agentnb.api.waiting import nest
from tests.unit.running import run


async def nested() -> bool:
    """Make the loop that runs here re-entrant."""
    return nest()


def test_asyncio_run_after_a_nested_wait_closes_its_loop_as_before() -> None:
    """nest-asyncio's own version leaves each of its loops open, for the rest of the process."""
    before = asyncio.run
    assert run(nested())
    assert asyncio.run is before
