"""Waiting for the host, and no longer than one wants to."""

from __future__ import annotations

from concurrent.futures import TimeoutError as TooLong
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from agentnb.host.conversation import SessionOwner

T = TypeVar("T")


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
