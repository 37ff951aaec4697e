"""How long an agent that works has said nothing, as state that a view can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.state import SessionActivityChanged

if TYPE_CHECKING:
    import asyncio

    from agentnb.host.channels import SessionChannels
    from agentnb.host.loop import HostLoop

SECONDS = 40.0
"""Seconds without a word after which it is said, and said again after every doubling."""


class Inactivity:
    """Watches one session's running turn; the session's ``activity`` says how long nothing came.

    Args:
        channels: The session's state.
        loop: The host's loop and clock.
        seconds: After how long it is said first.

    Attributes:
        since: When the agent was active last, on the host loop's clock, in seconds.
    """

    def __init__(self, channels: SessionChannels, loop: HostLoop, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.since = 0.0
        self._channels = channels
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A prompt was sent, or the agent was active: count from now."""
        self.end()
        self.since = self._loop.time()
        self._timer = self._loop.later(self.seconds, self._tell, self.seconds)

    def record_activity(self) -> None:
        """The agent was active."""
        if self._timer is not None:
            self.begin()

    def end(self) -> None:
        """The agent owes no answer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._show(None)

    def _tell(self, seconds: float) -> None:
        if self._channels.waits_for_user:
            self.begin()
            return
        self._show(f"no word for {seconds:g} s")
        rest = self.since + 2 * seconds - self._loop.time()
        self._timer = self._loop.later(max(rest, 0.0), self._tell, 2 * seconds)

    def _show(self, words: str | None) -> None:
        if self._channels.session.state.summary.activity != words:
            self._channels.dispatch(SessionActivityChanged(activity=words, time=now_ms()))
