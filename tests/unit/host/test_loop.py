"""The host's thread and its end."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from agentnb.host.loop import HostLoop


def test_what_still_runs_when_the_thread_ends_is_given_up_without_a_complaint(caplog: pytest.LogCaptureFixture) -> None:
    """A task that waits, and one that tidies up when it is cancelled."""
    tidied: list[str] = []
    begun: list[str] = []

    async def waits() -> None:
        begun.append("waits")
        await asyncio.Event().wait()

    async def tidies() -> None:
        begun.append("tidies")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            tidied.append("up")

    loop = HostLoop()
    futures = [loop.submit(waits()), loop.submit(tidies())]
    while len(begun) < 2:
        loop.call(lambda: None)
    with caplog.at_level(logging.ERROR):
        loop.stop()
        gc.collect()
    assert tidied == ["up"]
    assert [future.cancelled() for future in futures] == [True, True]
    assert [record.getMessage() for record in caplog.records] == []
