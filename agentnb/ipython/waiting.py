"""Waiting for a turn: awaiting in a notebook cell, blocking elsewhere. An interrupt cancels the turn in both."""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from agentnb.api.interrupts import CountedInterrupts
from agentnb.api.turn import awaited
from agentnb.errors import TurnTimeout
from agentnb.host.environment import current_environment
from agentnb.ipython.interrupt import AgentInterrupted, Interrupts
from agentnb.ipython.pump import pumping

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.api.session import Turn

TICK_S = 0.2
"""How often a waiting cell looks up: to show what came, and, while it blocks, to let Ctrl-C through."""
_WORK = "work"
GRACE_S = 3.0
"""How long a cancelled turn may take to end before the cell goes on without it."""


async def await_turn(turn: Turn, tick: Callable[[], None], *, timeout: float | None = None, kernel: Any = None) -> None:
    """Wait until *turn* has ended while the loop, and so every click, goes on.

    The first interrupt cancels the turn and gives it `GRACE_S` to end; the second leaves it.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def on_interrupt(count: int) -> None:
        if count > 1:
            ended.set()
        else:
            turn.cancel()
            loop.call_later(GRACE_S, ended.set)

    with Interrupts(on_interrupt) as interrupts:
        turn.add_done_callback(lambda _: _set_from_thread(loop, ended))
        try:
            with awaited(turn), current_environment().job_queue.waiting(turn.session.tab_id):
                async with pumping(kernel):
                    timely = await _ticking(ended, tick, timeout)
                    if not timely and not interrupts.count:
                        turn.cancel()
                        await _ticking(ended, tick, GRACE_S)
        except asyncio.CancelledError:
            turn.cancel()
            raise
    _raise_if(turn, interrupted=interrupts.count > 0, timeout=None if timely else timeout)


def block_on(turn: Turn, tick: Callable[[], None], *, timeout: float | None = None) -> None:
    """Wait until *turn* has ended, blocking this thread; as `await_turn` otherwise."""
    news: SimpleQueue[str] = SimpleQueue()  # its put() may come from a signal handler, an Event's set() may not
    job_queue = current_environment().job_queue
    timely = True
    with CountedInterrupts(partial(news.put, "interrupted")) as interrupts:
        turn.add_done_callback(lambda _: news.put("ended"))
        try:
            with awaited(turn), job_queue.waiting(turn.session.tab_id, partial(news.put, _WORK)):
                what = _blocked(news, tick, timeout)
                timely = what is not None
                if what != "ended":
                    turn.cancel()
                    _blocked(news, tick, GRACE_S)
        except KeyboardInterrupt:  # the second one leaves the turn
            turn.cancel()
    _raise_if(turn, interrupted=interrupts.count > 0, timeout=None if timely else timeout)


def _raise_if(turn: Turn, *, interrupted: bool, timeout: float | None) -> None:
    if interrupted:
        raise AgentInterrupted(
            "the turn was cancelled." if turn.done else "the turn was left; the agent has not said that it stopped."
        )
    if timeout is not None:
        raise TurnTimeout(
            f"The turn did not end in {timeout:g} s and was cancelled.", hint="Give it more with --timeout."
        )


async def _ticking(ended: asyncio.Event, tick: Callable[[], None], timeout: float | None) -> bool:
    deadline = time.monotonic() + timeout if timeout is not None else None
    while not ended.is_set():
        left = TICK_S if deadline is None else min(TICK_S, deadline - time.monotonic())
        if left <= 0:
            return False
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), left)
        tick()
    return True


def _blocked(news: SimpleQueue[str], tick: Callable[[], None], timeout: float | None) -> str | None:
    """The next of *news*; None where there is none in *timeout* seconds."""
    deadline = time.monotonic() + timeout if timeout is not None else None
    what = None
    while what is None:
        left = TICK_S if deadline is None else min(TICK_S, deadline - time.monotonic())
        if left <= 0:
            return None
        with contextlib.suppress(Empty):
            what = news.get(timeout=left)
        if what == _WORK:
            current_environment().job_queue.run_pending(loop_is_free=False)
            what = None
        tick()
    return what


def _set_from_thread(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the kernel has ended meanwhile
        loop.call_soon_threadsafe(event.set)
