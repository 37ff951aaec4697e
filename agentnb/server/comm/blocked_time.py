"""How long a cell has blocked the loop on which messages of pages come in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentnb.host.loop import HostLoop

ASK_SECONDS = 5.0
PROMPT_SECONDS = 1.0  # an answer that takes no longer than this is at once


class BlockedTime:
    """Measures how long the loop that receives messages was blocked: every few seconds it posts a callback to it."""

    def __init__(self, host_loop: HostLoop) -> None:
        self._host_loop = host_loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asks = False
        self._asked: float | None = None
        self._past = 0.0

    def record_message(self) -> None:
        """Note which loop a message of a page came in on; call it there, on any thread."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # no loop to measure: it counts as never blocked
        if loop is not self._loop:
            self._loop = loop
            self._host_loop.post(self._begin)

    def blocked_seconds(self) -> float:
        """For how many seconds it was blocked, all in all."""
        asked_at = self._asked
        return self._past + (0.0 if asked_at is None else self._wait_since(asked_at))

    def _wait_since(self, asked_at: float) -> float:
        waited = self._host_loop.time() - asked_at
        return waited if waited > PROMPT_SECONDS else 0.0

    def _begin(self) -> None:
        if not self._asks or self._asked is not None:  # the loop asked before may never answer
            self._asks = True
            self._ask()

    def _ask(self) -> None:
        loop = self._loop
        self._asked = self._host_loop.time()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._host_loop.post, self._answered)
        except RuntimeError:  # it was closed: whoever speaks next says where
            self._loop, self._asked, self._asks = None, None, False

    def _answered(self) -> None:
        if self._asked is not None:
            self._past += self._wait_since(self._asked)
            self._asked = None
            self._host_loop.later(ASK_SECONDS, self._ask)
