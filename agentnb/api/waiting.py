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

POLL_SECONDS = 0.25


def within(host: SessionOwner, work: Coroutine[Any, Any, T], timeout: float, title: str) -> T:
    """What comes of *work* on the host's thread; not to be called there.

    Args:
        host: The host.
        work: What to do; given up when it takes too long, and then the agent is told.
        timeout: Seconds to wait, at most.
        title: Who is waited for.

    Raises:
        AgentError: If it takes longer.
    """
    future = host.loop.submit(work)
    try:
        return future.result(timeout)
    except TooLong as error:
        if future.done():
            raise
        future.cancel()
        message = f"{title} did not answer within {timeout:g} s."
        raise AgentError(message, hint="Restart the agent, or give it longer (timeout=…).") from error


def with_main_thread(host: SessionOwner, tab_id: str, work: Coroutine[Any, Any, T], timeout: float, title: str) -> T:
    """As :func:`within`; meanwhile this thread, where it is the main one, does the jobs that *work* has for it.

    Args:
        host: The host.
        tab_id: The tab that waits.
        work: What to do; it goes on where it takes too long.
        timeout: Seconds to wait, at most.
        title: Who is waited for.

    Raises:
        AgentError: If it takes longer.
    """
    is_main = threading.current_thread() is threading.main_thread()
    queue, woken, deadline = host.environment.job_queue, threading.Event(), time.monotonic() + timeout
    if not is_main:
        return within(host, work, timeout, title)
    with queue.waiting(tab_id, woken.set):
        future = host.loop.submit(work)
        future.add_done_callback(lambda _: woken.set())
        while not future.done():
            if time.monotonic() > deadline:
                raise AgentError(f"{title} did not come within {timeout:g} s.", hint="It goes on; look again later.")
            woken.wait(POLL_SECONDS)
            woken.clear()
            queue.run_pending(loop_is_free=False)
    return future.result()
