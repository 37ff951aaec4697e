"""The caller's loop, made re-entrant."""

from __future__ import annotations

import asyncio

from agentnb.api.waiting import nest
from tests.unit.running import run


async def nested() -> bool:
    """Makes the running loop re-entrant."""
    return nest()


def test_asyncio_run_after_a_nested_wait_closes_its_loop_as_before() -> None:
    """nest-asyncio's own version never closes its loops."""
    before = asyncio.run
    assert run(nested())
    assert asyncio.run is before
