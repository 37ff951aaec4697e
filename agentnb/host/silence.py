"""Silence: how long an agent that works has said nothing, as state that a view can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.clock import now_ms
from agentnb.state import SessionActivityChanged

if TYPE_CHECKING:
    import asyncio

    from agentnb.host.conversation import Conversation

SILENCE = 40.0
"""Seconds without a word after which it is said, and said again after every doubling."""


class Silence:
    """Watches one conversation's running turn; a session's ``activity`` says how long nothing came.

    Args:
        conversation: Whose agent.
        seconds: After how long it is said first.

    Attributes:
        since: When the last word came, on the host loop's clock, in seconds.
    """

    def __init__(self, conversation: Conversation, seconds: float = SILENCE) -> None:
        self.seconds = seconds
        self._conversation = conversation
        self._timer: asyncio.TimerHandle | None = None
        self.since = 0.0

    def begin(self) -> None:
        """A prompt was sent, or a word came: count from now."""
        self.end()
        self.since = self._conversation.host.loop.time()
        self._timer = self._conversation.host.loop.later(self.seconds, self._tell, self.seconds)

    def heard(self) -> None:
        """A word came."""
        if self._timer is not None:
            self.begin()

    def end(self) -> None:
        """The agent owes no answer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._say(None)

    def _tell(self, seconds: float) -> None:
        if self._conversation.waits_for_user:
            self.begin()
            return
        self._say(f"no word for {seconds:g} s")
        rest = self.since + 2 * seconds - self._conversation.host.loop.time()
        self._timer = self._conversation.host.loop.later(max(rest, 0.0), self._tell, 2 * seconds)

    def _say(self, words: str | None) -> None:
        if self._conversation.session.state.summary.activity != words:
            self._conversation.dispatch(SessionActivityChanged(activity=words, time=now_ms()))
