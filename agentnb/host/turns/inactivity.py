"""Watches a running turn: how long its agent has been silent, and the checks when the turn has ended."""

from __future__ import annotations

import asyncio
import time
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from agentnb.budget import Spent, read_budget, uses_of
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError
from agentnb.plugin_registry import plugins
from agentnb.state import Message, MessageOrigin, SessionActivityChanged
from agentnb.state.change import milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.channels import SessionChannels
    from agentnb.host.loop import HostLoop
    from agentnb.ports import ToolSession, TurnChecker
    from agentnb.state import ActiveTurn


SECONDS = 40.0
"""Seconds of silence after which it is reported, and reported again each time that it has doubled."""

SLACK = 0.01
"""Seconds by which a timer may fire early: its clock is coarser than the one that is read."""


class Inactivity:
    """Watches one session's running turn; the session's ``activity`` says how long there has been no output."""

    def __init__(self, channels: SessionChannels, loop: HostLoop) -> None:
        self.seconds = SECONDS
        self.since: float = 0.0
        self._channels = channels
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self._is_reported = False

    def begin(self) -> None:
        """Start counting: a prompt was sent."""
        self.end()
        self.since = monotonic()
        self._timer = self._loop.later(self.seconds, self._look, self.seconds)

    def record_activity(self) -> None:
        if self._timer is not None:
            self.since = monotonic()
            if self._is_reported:
                self.begin()

    def end(self) -> None:
        """Stop counting: the agent owes no answer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._show(None)

    def _look(self, seconds: float) -> None:
        """Report if nothing came for *seconds*, and schedule the next check."""
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
        self._is_reported = words is not None
        if self._channels.session.state.activity != words:
            self._channels.dispatch(SessionActivityChanged(activity=words, time=now_ms()))


MOST_ROUNDS = 3
"""The most times that an agent is asked to fix what a check found."""
MOST_OF_TURN = read_budget("500k tokens, 15 min", scope="turn")
"""The most that a turn may have used to get another round."""


class AnswerCheck(Protocol):
    def correction(self, turn: ActiveTurn) -> str:
        """Returns a request to correct the answer, or '' if it is valid or was already asked for again."""
        ...


class TurnChecks:
    """The turns of a session that are checked, and how often each has been checked."""

    def __init__(
        self, channels: SessionChannels, session: ToolSession, *, each: bool, setting: Callable[[], str]
    ) -> None:
        self.each = each
        self.only: set[str] = set()
        self.answers: dict[str, AnswerCheck] = {}
        self._channels = channels
        self._session = session
        self._setting = setting
        self._rounds: dict[str, int] = {}

    def wanted(self, turn_id: str) -> bool:
        return turn_id in self.answers or self._is_verified(turn_id)

    def _is_verified(self, turn_id: str) -> bool:
        return self.each or turn_id in self.only or self._setting() != "on demand"

    async def task(self, turn_id: str) -> Message | None:
        """Check the turn; returns the agent's next task, or None if the turn is done."""
        task = await self._verified(turn_id) if self._is_verified(turn_id) else None
        return task or await self._corrected(turn_id)

    async def _corrected(self, turn_id: str) -> Message | None:
        check, active = self.answers.get(turn_id), self._channels.chat.state.active_turn
        if check is None or active is None:
            return None
        correction = await asyncio.to_thread(check.correction, active)  # a type's validators are the user's code
        if not correction:
            return None
        self._channels.say(turn_id, "The answer does not have the requested type. The agent is asked once more.")
        return Message(text=correction, origin=MessageOrigin(kind="system"))

    async def _verified(self, turn_id: str) -> Message | None:
        checkers: list[TurnChecker] = [each for _, each in plugins().offers("checkers")]
        if not checkers:
            self._channels.say(turn_id, "Not verified: no plug-in that verifies is loaded (`agentnb plugins`).")
            return None
        active = self._channels.chat.state.active_turn
        since = milliseconds(active.started_at) / 1000 if active is not None and active.started_at else time.time()
        try:
            checks = [await each.check(self._session, since) for each in checkers]
        except AgentnbError as error:
            self._channels.say(turn_id, f"Not verified: {error}")
            return None
        summary = "\n".join(each.summary for each in checks if each.summary)
        task = "\n\n".join(each.task for each in checks if each.task)
        return self._next(turn_id, summary, task, since)

    def _next(self, turn_id: str, summary: str, task: str, since: float) -> Message | None:
        rounds = self._rounds.pop(turn_id, 0)
        mends = task and (self.each or turn_id in self.only or self._setting() == "until verified")
        limit = self._limit(rounds, since) if mends else ""
        if summary:
            self._channels.say(turn_id, f"{summary}{f' {limit}' if limit else ''}")
        if not mends or limit or not self._channels.is_active(turn_id):
            return None
        self._rounds[turn_id] = rounds + 1
        return Message(text=task, origin=MessageOrigin(kind="system"))

    def _limit(self, rounds: int, since: float) -> str:
        """Returns why the agent is not asked again, or '' if it is."""
        active = self._channels.chat.state.active_turn
        usage = active.usage if active is not None else None
        tokens = ((usage.input_tokens or 0) + (usage.output_tokens or 0)) if usage is not None else 0
        if rounds >= MOST_ROUNDS:
            return f"The agent tried {rounds} times to fix it. Now it is your turn."
        spent = Spent(tokens=tokens, seconds=time.time() - since)
        reached = [each.message for each in uses_of(MOST_OF_TURN, {"turn": spent}) if each.is_reached]
        return f"{reached[0]} Now it is your turn." if reached else ""
