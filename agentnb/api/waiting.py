"""Waiting for the host, and no longer than one wants to."""

from __future__ import annotations

import threading
import time
from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from agentnb.host.conversation import SessionOwner

T = TypeVar("T")

POLL_SECONDS = 0.2
"""A blocked main thread looks up this often, so that Ctrl-C comes through on every platform."""


def within(host: SessionOwner, work: Coroutine[Any, Any, T], timeout: float, title: str) -> T:
    """Run *work* for the agent called *title* and return its result; after *timeout* seconds it is given up."""
    late = AgentError(
        f"{title} did not answer within {timeout:g} s.", hint="Restart the agent, or give it longer (timeout=…)."
    )
    return in_time(host, work, timeout, late, gives_up=True)


def in_time(
    host: SessionOwner, work: Coroutine[Any, Any, T], timeout: float, late: Exception, *, gives_up: bool = False
) -> T:
    """Run *work* on the host's thread and return its result; not to be called there."""
    future = host.loop.submit(work)
    try:
        return future.result(timeout)
    except TooLong as error:
        if future.done():
            raise
        if gives_up:
            future.cancel()
        raise late from error


def with_main_thread(
    host: SessionOwner, tab_id: str, work: Coroutine[Any, Any, T], timeout: float, late: Exception
) -> T:
    """As :func:`in_time`; meanwhile this thread, where it is the main one, does the jobs that *work* has for it."""
    if threading.current_thread() is not threading.main_thread():
        return in_time(host, work, timeout, late)
    queue, woken, deadline = host.environment.job_queue, threading.Event(), time.monotonic() + timeout
    with queue.waiting(tab_id, woken.set):
        future = host.loop.submit(work)
        future.add_done_callback(lambda _: woken.set())
        while not future.done():
            if time.monotonic() > deadline:
                raise late
            woken.wait(POLL_SECONDS)
            woken.clear()
            queue.run_pending(loop_is_free=False)
    return future.result()
