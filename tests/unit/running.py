"""Running a coroutine in a test that is no coroutine itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``, on a thread and a loop of its own.

    On the main thread it would put away the loop of pytest-asyncio, and once nest-asyncio was applied in this process
    ``asyncio.run`` closes its loop no more.
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
