"""The budget of a turn: counts tokens and costs, warns at 80 percent, and asks the user at the limit.

The usage comes from the log's usage of turns, which all kernels of the user write; it includes running turns.
"""

from __future__ import annotations

from datetime import datetime, time
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from agentnb.acp.fields import count, mapping
from agentnb.budget import Limit, LimitUse, Spent, read_budget, uses_of, written_amount
from agentnb.clock import now_ms
from agentnb.errors import BudgetExceeded, LogError
from agentnb.state import (
    ChatInputOption,
    ChatInputRequest,
    ChatInputSingleSelectQuestion,
    Message,
    MessageOrigin,
    SessionMetaChanged,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from agentnb.budget import Scope
    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment
    from agentnb.host.history.recorder import SessionRecorder
    from agentnb.host.history.turn_usage import UsageWatch
    from agentnb.host.loop import HostLoop
    from agentnb.host.permissions.session_policy import HostPolicy
    from agentnb.host.turns.input_requests import InputRequests
    from agentnb.state import ChatState, UsageInfo


Counts: TypeAlias = Literal["turn", "session"]
_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens")


def turn_tokens(reported: UsageInfo, before: UsageInfo | None, counts: Counts | None) -> UsageInfo:
    """Returns what one turn used.

    If the catalogue does not say how an agent counts, its numbers are totals of the session, as ACP defines them, until
    one decreases: a total never does.
    """
    if counts == "turn":
        return reported
    kept = mapping(mapping(before.meta if before is not None else None).get("agentnb"))
    earlier = {name: count(mapping(kept.get("said")).get(name)) or 0 for name in _FIELDS}
    now = {name: getattr(reported, name) or 0 for name in _FIELDS}
    fell = any(now[name] < earlier[name] for name in _FIELDS)
    if counts is None and (fell or kept.get("counts") == "turn"):
        return _noted(reported, now, "turn")
    used = {
        name: None if getattr(reported, name) is None else now[name] - (0 if fell else earlier[name])
        for name in _FIELDS
    }
    return _noted(replace(reported, **used), now, "session")


def counted_before(chat: ChatState, turn_id: str) -> UsageInfo | None:
    """The tokens of the last turn before *turn_id* whose agent reported any."""
    known: UsageInfo | None = None
    for turn in chat.turns:
        if turn.id == turn_id:
            break
        known = turn.usage or known
    return known


def added(before: UsageInfo | None, usage: UsageInfo) -> UsageInfo:
    """The usage of a turn with several prompts: *before*, plus *usage* of the last one."""
    if before is None:
        return usage
    sums = {}
    for name in _FIELDS:
        known = [each for each in (getattr(before, name), getattr(usage, name)) if each is not None]
        sums[name] = sum(known) if known else None
    return replace(usage, **sums)


def _noted(usage: UsageInfo, reported: Mapping[str, int], counts: Counts) -> UsageInfo:
    return replace(usage, meta={**(usage.meta or {}), "agentnb": {"said": dict(reported), "counts": counts}})


BUDGET = "budget"
"""The key in the session's ``_meta`` of the conversation's budget and the line that views show."""
SETTINGS: tuple[tuple[str, Scope], ...] = (("budget", "conversation"), ("budget_day", "day"))
TICK = 2.0
"""Seconds between two checks of a running turn while its agent reports nothing."""
SHORTEST = 0.05
"""The fewest seconds between two checks."""
TRIES = 3
"""Consecutive failures to count the day of a running turn that are tolerated: another kernel may be writing a lot."""
LOG_OFF = "The session log is off (AGENTNB_LOG=off)"
GO_ON, STOP = "go on", "stop"
_CONTINUE = "The user was asked whether you may use more, and said yes. Go on where you stopped."


class Stop(NamedTuple):
    """The reason a turn may not go on: limits that are reached, or one that cannot be kept."""

    uses: tuple[LimitUse, ...] = ()
    problem: str = ""
    hint: str = ""
    is_fixed: bool = False

    @property
    def message(self) -> str:
        return self.problem or " ".join(each.message for each in self.uses)


class TurnBudget:
    pause: Callable[[str], Awaitable[None]]

    def __init__(
        self,
        channels: SessionChannels,
        usage: Callable[[], UsageWatch],
        inputs: InputRequests,
        loop: HostLoop,
        *,
        environment: Environment,
        policy: HostPolicy,
        cwd: Path,
        agent: str,
        recorder: Callable[[], SessionRecorder | None],
        counts: Callable[[], object],
    ) -> None:
        self.unattended: set[str] = set()
        self._channels = channels
        self._usage = usage
        self._inputs = inputs
        self._loop = loop
        self._environment = environment
        self._policy = policy
        self._cwd = cwd
        self._agent = agent
        self._recorder = recorder
        self._counts = counts
        self._turn: str | None = None
        self._stop: Stop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._seen = -1
        self._uncounted = 0
        self._is_looking = self._looks_again = False
        self._reported: set[object] = set()
        self._accepted: set[str] = set()
        self._warnings: dict[str, list[str]] = {}

    # --- what holds ---

    @property
    def text(self) -> str:
        """The budget that this conversation was given, or '' if none was."""
        meta = self._channels.session.state.meta or {}
        return str((meta.get(BUDGET) or {}).get("limits", ""))

    def set(self, text: str) -> None:
        """Set this conversation's budget, which is kept with the conversation."""
        read_budget(text)
        self._reported.clear()
        self._show(limits=text)
        if self._turn is None and self._channels.prompted is not None:
            self._turn = self._channels.prompted
            self._tick()

    def limits(self) -> tuple[Limit, ...]:
        return self._read()[0]

    def _read(self) -> tuple[tuple[Limit, ...], list[Stop]]:
        """The limits in force now, and why some cannot be read."""
        limits: list[Limit] = []
        problems: list[Stop] = []
        settings = self._environment.sources()
        for name, scope in SETTINGS:
            value = settings[name]
            if scope == "conversation" and self.text:
                hint = 'Raise it with session.budget = "…".'
                limits += read_budget(self.text, scope=scope, hint=hint)
                continue
            if value.problem:
                words = f"The setting {name} cannot be read. {value.problem}"
                problems.append(Stop(problem=words, hint="Fix it."))
            if value.value:
                hint = f"Raise {name} in the settings, or set it with `%config Agentnb.{name}`."
                limits += read_budget(value.value, scope=scope, hint=hint, origin="settings")
        files = self._policy.files
        for settings_of in (files.user, files.project(self._cwd)):
            limits += (*settings_of.budget, *settings_of.budget_day)
            if settings_of.unread_budget:
                is_site = settings_of.unread_budget == "site"
                words = f"A budget cannot be read. {settings_of.problem}"
                problems.append(Stop(problem=words, hint="Fix the file.", is_fixed=is_site))
        return tuple(limits), problems

    # --- before a prompt ---

    async def allows(self, turn_id: str) -> bool:
        """True if a prompt of the turn may be sent now. Asks the user if a limit is reached.

        Raises:
            BudgetExceeded: If a limit is reached, and nobody can be asked, or the user cannot raise it.
        """
        self._end()
        if self._environment.cassette.is_replaying:
            return True
        while (stop := await self._look(more_turns=not self._usage().has_running)) is not None:
            if not await self._goes_on(turn_id, stop):
                return False
        if self.limits() and self._channels.is_active(turn_id):
            self._turn, self._seen = turn_id, self._usage().version
            self._tick()
        return True

    # --- while it runs ---

    def changed(self) -> None:
        """The session may have changed: check whether its turn has ended or has used more."""
        if self._turn is None:
            return
        if not self._channels.is_active(self._turn):
            self._end()
        elif self._usage().version != self._seen:
            self._seen = self._usage().version
            self._look_soon()

    def is_paused(self, turn_id: str) -> bool:
        return self._stop is not None and self._turn == turn_id

    async def answered(self, turn_id: str, *, is_cancelled: bool) -> Message | None:
        """Returns the next message to the agent if the turn goes on after its answer; None if the turn is done.

        Raises:
            BudgetExceeded: If the turn was stopped at a limit, and nobody can be asked, or the user cannot raise it.
        """
        stop, self._stop = self._stop, None
        if stop is None or not is_cancelled:
            await self._look()
            self._tell_what_is_not_counted(turn_id)
            return None
        if not await self._goes_on(turn_id, stop):
            return None
        return Message(text=_CONTINUE, origin=MessageOrigin(kind="system"))

    @property
    def exceeded(self) -> BudgetExceeded:
        stop = self._stop or Stop()
        return BudgetExceeded(stop.message, hint=stop.hint)

    @property
    def is_in_force(self) -> bool:
        """True if the running turn is limited."""
        return self._turn is not None

    def take_warnings(self, turn_id: str) -> list[str]:
        """Returns the warnings of nearly reached limits of a turn that Python has not had yet."""
        return self._warnings.pop(turn_id, [])

    def _look_soon(self) -> None:
        self._looks_again = True
        if not self._is_looking and self._stop is None:
            self._loop.spawn(self._look_and_pause())

    async def _look_and_pause(self) -> None:
        self._is_looking = True
        try:
            while self._looks_again:
                self._looks_again = False
                turn, stop = self._turn, await self._look()
                is_out = turn is not None and turn == self._turn and self._channels.prompted == turn
                if stop is not None and is_out and turn is not None and self._stop is None:
                    self._stop = stop
                    await self.pause(turn)
        finally:
            self._is_looking = False

    def _tick(self) -> None:
        """Check again periodically, since a silent agent uses time, too."""
        if self._timer is not None:
            self._timer.cancel()
        if self._turn is None or not self._channels.is_active(self._turn):
            return
        usage = self._usage()
        if self._channels.prompted == self._turn:
            usage.look(at_once=True)
            self._counts()
            self._look_soon()
        limits = [each for each in self.limits() if each.unit == "time" and each.scope == "conversation"]
        left = [use.allowed - use.used for use in self._uses(limits, {"conversation": usage.spent})]
        soon = [each for each in left if each > 0]
        self._timer = self._loop.later(max(min([TICK, *soon]), SHORTEST), self._tick)

    def _end(self) -> None:
        self._turn = self._stop = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- what is used ---

    async def _look(self, *, more_turns: int = 0) -> Stop | None:
        """Returns why no more may be used; None if more may be. Warns of limits that are nearly reached."""
        limits, problems = self._read()
        problem = next((each for each in problems if each.problem not in self._accepted), None)
        if problem is not None or not limits:
            return problem
        spent: dict[Scope, Spent] = {"conversation": self._usage().spent}
        days = [each for each in limits if each.scope == "day"]
        if days:
            counted = await self._today()
            if isinstance(counted, Spent):
                spent["day"], self._uncounted = counted, 0
            else:
                self._uncounted += 1
                words = f"Today's budget of {written_amount(days[0], days[0].amount)} cannot be counted. {counted}"
                is_asked = self._turn is None or self._uncounted >= TRIES
                if is_asked and words not in self._accepted:
                    is_fixed = any(each.is_fixed for each in days)
                    return Stop(problem=words, hint="Repair the log, or remove the budget.", is_fixed=is_fixed)
        spent = {scope: each._replace(turns=each.turns + more_turns) for scope, each in spent.items()}
        uses = self._uses(limits, spent)
        self._warn(uses)
        reached = tuple(each for each in uses if each.is_reached)
        if not reached:
            return None
        hints = dict.fromkeys(each.limit.hint for each in reached)
        return Stop(reached, hint=" ".join(hints), is_fixed=any(each.limit.is_fixed for each in reached))

    def _uses(self, limits: list[Limit] | tuple[Limit, ...], spent: dict[Scope, Spent]) -> list[LimitUse]:
        so_far = self._policy.added_budget
        return uses_of(limits, spent, {each.key: so_far.get(self._name(each), 0.0) for each in limits})

    async def _today(self) -> Spent | str:
        """The usage of all kernels since local midnight, or why it cannot be determined."""
        recorder = self._recorder()
        if recorder is None:
            return f"{LOG_OFF}."
        midnight = datetime.combine(datetime.now().astimezone().date(), time.min).astimezone()
        try:
            return await recorder.spent_since(int(midnight.timestamp() * 1000))
        except LogError as error:
            return str(error)

    # --- what is told and asked ---

    def _warn(self, uses: list[LimitUse]) -> None:
        """Warn once for each limit that it is nearly reached, in the turn and for waiting Python code."""
        near = [each for each in uses if each.is_nearly_reached]
        new = [each for each in near if not each.is_reached and (each.limit.key, each.allowed) not in self._reported]
        self._reported.update((each.limit.key, each.allowed) for each in near)
        turn = self._channels.speaking
        if turn is not None and new:
            self._warnings[turn] = [each.nearly for each in new]
            for each in new:
                self._channels.say(turn, each.nearly)
        self._show(line=max(near, key=lambda each: each.used / each.allowed).percent if near else "")

    def _tell_what_is_not_counted(self, turn_id: str) -> None:
        """Say once that the agent does not report what a limit is about."""
        row = self._usage().latest
        if row is None:
            return
        for each in self.limits():
            words = ""
            if each.unit == "tokens" and row.input is None and row.output is None:
                words = f"{self._agent} does not report tokens"
            elif each.unit == "cost" and not self._usage().spent.costs:
                words = f"{self._agent} does not report cost"
            elif each.unit == "cost" and each.currency not in self._usage().spent.costs:
                words = f"{self._agent} reports its cost in {', '.join(self._usage().spent.costs)}, not {each.currency}"
            if words and words not in self._reported:
                self._reported.add(words)
                amount = written_amount(each, each.amount)
                self._channels.say(turn_id, f"{words}: the limit of {amount} is not enforced; time and turns are.")

    async def _goes_on(self, turn_id: str, stop: Stop) -> bool:
        """Ask the user whether the same amount again may be used."""
        nobody = turn_id in self.unattended or not await self._environment.attended()
        if stop.is_fixed or nobody:
            raise BudgetExceeded(stop.message, hint=stop.hint)
        more = [written_amount(each.limit, each.more) for each in stop.uses]
        label = f"Go on (+{', '.join(more)})" if more else "Go on"
        options = (ChatInputOption(id=GO_ON, label=label), ChatInputOption(id=STOP, label="Stop"))
        question = ChatInputSingleSelectQuestion(
            id=BUDGET, message="How should the agent go on?", required=True, options=options
        )
        request_id = f"{BUDGET}-{self._inputs.next_id()}"
        answer = await self._inputs.put(ChatInputRequest(id=request_id, message=stop.message, questions=(question,)))
        if answer.response != "accept" or answer.values.get(BUDGET) != GO_ON:
            return False
        if stop.problem:
            self._accepted.add(stop.problem)
        so_far = self._policy.added_budget
        for each in stop.uses:
            name = self._name(each.limit)
            added = each.allowed - each.limit.amount + each.more
            so_far[name] = max(so_far.get(name, 0.0), added)  # asked in two conversations, it counts once
        return True

    def _name(self, limit: Limit) -> tuple[str, ...]:
        """The key for the amount added to *limit*."""
        return limit.key if limit.scope == "day" else (*limit.key, self._channels.session.uri)

    def _show(self, **changed: str) -> None:
        meta = self._channels.session.state.meta or {}
        before = meta.get(BUDGET) or {}
        after = {name: value for name, value in {**before, **changed}.items() if value}
        if after != before:
            self._channels.dispatch(SessionMetaChanged(meta={**meta, BUDGET: after}, time=now_ms()))
