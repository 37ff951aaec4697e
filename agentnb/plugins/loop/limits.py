"""The limits of a loop: a time, a budget, a target, a number of tries, and a number of tries without improvement."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.budget import Spent, read_budget, uses_of, written_amount
from agentnb.errors import UsageError
from agentnb.ids import new_id
from agentnb.plugins.branches.keep import begin_notice, end_notice, own_conversation
from agentnb.state import ChatInputOption, ChatInputRequest, ChatInputSingleSelectQuestion

if TYPE_CHECKING:
    from pathlib import Path

    from agentnb.budget import LimitUse
    from agentnb.host import Host


MORE_SECONDS = 3600.0
"""Seconds that continuing adds once the time limit is reached."""
_UNTIL = 'until="07:00" is the next seven o\'clock; "2027-01-31 07:00" is that day.'


class LoopLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The limits as the user gave them; ``until`` is in seconds since 1970."""

    until: float | None = None
    budget: str = ""
    target: float | None = None
    patience: int | None = None
    tries: int | None = None


class Standing(NamedTuple):
    """The progress of a loop, compared with its limits."""

    spent: Spent
    now: float
    best: float
    without_gain: int
    higher_is_better: bool


class Reached(NamedTuple):
    """A limit that was reached: a sentence, what continuing adds, and the limits then; None if it was the target."""

    message: str
    more: str = ""
    then: LoopLimits | None = None


class LimitCheck:
    """Checks whether a loop has reached one of its limits, which the user can extend."""

    def __init__(self, limits: LoopLimits) -> None:
        self.limits: LoopLimits = limits
        self._first = limits
        self._budget = read_budget(limits.budget, scope="loop", hint="Pass a larger one to agentnb.loop.resume().")
        self._added: dict[Any, float] = {}
        self._patience_from = 0

    def reached(self, standing: Standing, *, is_running: bool) -> Reached | None:
        """Returns the limit that is reached; a running try ends only at its time and its budget."""
        return self._of_time(standing) or self._of_budget(standing, is_running) or self._of_tries(standing, is_running)

    def go_on(self, reached: Reached, standing: Standing) -> None:
        """Extend the limit that was reached by :attr:`Reached.more`."""
        for use in self._used_up(standing, more_turns=1):
            key = use.limit.key
            self._added[key] = self._added.get(key, 0.0) + use.more
        if reached.then is not None:
            self.limits = reached.then
        self._patience_from = standing.without_gain

    def _of_time(self, standing: Standing) -> Reached | None:
        until = self.limits.until
        if until is None or standing.now < until:
            return None
        then = msgspec.structs.replace(self.limits, until=standing.now + MORE_SECONDS)
        end = datetime.fromtimestamp(until).astimezone()
        return Reached(f"It is {end:%H:%M}, the loop's end.", "1 h", then)

    def _of_budget(self, standing: Standing, is_running: bool) -> Reached | None:
        uses = self._used_up(standing, more_turns=0 if is_running else 1)
        if not uses:
            return None
        more = ", ".join(written_amount(each.limit, each.more) for each in uses)
        return Reached(" ".join(each.message for each in uses), more, self.limits)

    def _used_up(self, standing: Standing, *, more_turns: int) -> list[LimitUse]:
        spent = standing.spent._replace(turns=standing.spent.turns + more_turns)
        return [each for each in uses_of(self._budget, {"loop": spent}, self._added) if each.is_reached]

    def _of_tries(self, standing: Standing, is_running: bool) -> Reached | None:
        limits, first = self.limits, self._first
        if is_running:
            return None
        sign = 1 if standing.higher_is_better else -1
        if limits.target is not None and sign * standing.best >= sign * limits.target:
            return Reached(f"The target of {limits.target:g} is reached: {standing.best:.6g}.")
        if limits.tries is not None and standing.spent.turns >= limits.tries:
            then = msgspec.structs.replace(limits, tries=limits.tries + (first.tries or 0))
            are = "is" if limits.tries == 1 else "are"
            return Reached(f"{_tries(limits.tries)} {are} done.", _tries(first.tries or 0), then)
        if standing.without_gain < self._patience_from:
            self._patience_from = 0
        since = standing.without_gain - self._patience_from
        if limits.patience is not None and since >= limits.patience:
            return Reached(f"{_tries(since)} in a row without improvement.", _tries(limits.patience), limits)
        return None


def is_count(value: object, *, at_least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def check_limits(limits: LoopLimits) -> None:
    """Raise a UsageError if a number is invalid, or nothing would end the loop."""
    for name, value in (("patience", limits.patience), ("tries", limits.tries)):
        if value is not None and not is_count(value, at_least=1):
            raise UsageError(f"{name}={value!r} is not a number of tries.")
    read_budget(limits.budget)
    if limits.until is None and not limits.budget and limits.patience is None and limits.tries is None:
        raise UsageError(
            "The loop has no limit.", hint='Give at least one of until="07:00", budget="$5", tries=20, patience=5.'
        )


def budget_text(budget: Any) -> str:
    """Returns a budget as text; a number is in dollars."""
    if budget is None:
        return ""
    if isinstance(budget, (int, float)) and not isinstance(budget, bool):
        return f"${budget:.6f}".rstrip("0").rstrip(".")
    return f"${budget}" if isinstance(budget, str) and budget.replace(".", "", 1).isdecimal() else budget


def read_until(until: Any, now: datetime) -> float | None:
    """Returns *until* in seconds since 1970, None if it is None; *now* has a time zone. May raise a UsageError."""
    if until is None:
        return None
    moment = _parsed(until, now)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=now.tzinfo)
    if moment <= now:
        raise UsageError(f"until={until!r} is in the past.", hint=_UNTIL)
    return moment.timestamp()


def _parsed(until: Any, now: datetime) -> datetime:
    try:
        if isinstance(until, datetime):
            return until
        if isinstance(until, str) and "-" not in until:
            until = time.fromisoformat(until.strip().zfill(5))
        if isinstance(until, time):
            today = datetime.combine(now.date(), until, until.tzinfo or now.tzinfo)
            return today if today > now else today + timedelta(days=1)
        return datetime.fromisoformat(until.strip())
    except (ValueError, TypeError, AttributeError):
        raise UsageError(f"until={until!r} is not a time.", hint=_UNTIL) from None


def _tries(number: int) -> str:
    return f"{number:,} {'try' if number == 1 else 'tries'}"


_GO_ON, _STOP, _QUESTION = "go on", "stop", "loop"


async def ask_to_go_on(host: Host, folder: Path, title: str, reached: Reached) -> bool:
    """Ask the user whether the loop may go on; on the host's thread."""
    conversation = own_conversation(host, folder, title, name="Loop", ended="A loop was paused here.")
    turn_id = await begin_notice(conversation, title)
    options = (ChatInputOption(id=_GO_ON, label=f"Go on (+{reached.more})"), ChatInputOption(id=_STOP, label="Stop"))
    question = ChatInputSingleSelectQuestion(
        id=_QUESTION, message="How should the loop go on?", required=True, options=options
    )
    request = ChatInputRequest(id=new_id(), message=reached.message, questions=(question,))
    text = "Answered in the notebook."
    try:
        answer = await conversation.inputs.put(request)
        goes_on = answer.response == "accept" and answer.values.get(_QUESTION) == _GO_ON
        text = "The loop continues." if goes_on else "The loop has ended."
    finally:
        end_notice(conversation, turn_id, text)
    return goes_on
