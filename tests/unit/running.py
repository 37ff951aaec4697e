"""Runs a coroutine in a synchronous test."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs like ``asyncio.run``, on another thread with another loop.

    On the main thread it would remove pytest-asyncio's loop, and ``asyncio.run`` no longer closes its loop once
    nest-asyncio was applied in this process.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_run, coroutine).result()


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
