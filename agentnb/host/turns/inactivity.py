"""How long an agent that works has said nothing, as state that a view can show."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.state import SessionActivityChanged

if TYPE_CHECKING:
    import asyncio

    from agentnb.host.channels import SessionChannels
    from agentnb.host.loop import HostLoop

SECONDS = 40.0
"""Seconds without a word after which it is said, and said again after every doubling."""

SLACK = 0.01
"""Seconds by which a timer may come early: its clock is coarser than the one that is read."""


class Inactivity:
    """Watches one session's running turn; the session's ``activity`` says how long nothing came."""

    def __init__(self, channels: SessionChannels, loop: HostLoop) -> None:
        self.seconds = SECONDS
        self.since: float = 0.0
        self._channels = channels
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._shown = False

    def begin(self) -> None:
        """A prompt was sent: count from now."""
        self.end()
        self.since = monotonic()
        self._timer = self._loop.later(self.seconds, self._look, self.seconds)

    def record_activity(self) -> None:
        """The agent was active."""
        if self._timer is not None:
            self.since = monotonic()
            if self._shown:
                self.begin()

    def end(self) -> None:
        """The agent owes no answer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._show(None)

    def _look(self, seconds: float) -> None:
        """Say that nothing came for *seconds*, if that is so; look again when it may be so."""
        if self._channels.waits_for_user:
            self.begin()
            return
        rest = self.since + seconds - monotonic()
        if rest <= SLACK:
            self._show(f"no output for {seconds:g} s")
            seconds *= 2
            rest = self.since + seconds - monotonic()
        self._timer = self._loop.later(max(rest, 0.0), self._look, seconds)

    def _show(self, words: str | None) -> None:
        self._shown = words is not None
        if self._channels.session.state.activity != words:
            self._channels.dispatch(SessionActivityChanged(activity=words, time=now_ms()))
