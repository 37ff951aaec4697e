"""Turns: one at a time within a session, and a cancelled turn is over at once."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, AgentRefused, AuthenticationRequired
from agentnb.events.kinds import TURN_ENDED, TURN_PROMPTED, TURN_STARTED, TURN_STEERED
from agentnb.host.turns.message_queue import MessageQueue
from agentnb.host.turns.turn_budget import added, counted_before, turn_tokens
from agentnb.state import (
    ChatError,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatResponsePart,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnStarted,
    ChatUsage,
    ErrorInfo,
    ErrorResponsePart,
    Parts,
    PendingMessageKind,
    SessionIsReadChanged,
    SessionStatus,
    UserMessageResponsePart,
)
from agentnb.state.change import iso_time, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.acp.prompt import PromptResult
    from agentnb.host.agents.agent_lifecycle import AgentLifecycle
    from agentnb.host.agents.session_opening import Login
    from agentnb.host.changes.change_tracker import ChangeTracker
    from agentnb.host.channels import SessionChannels
    from agentnb.host.loop import HostLoop
    from agentnb.host.permissions.permissions import Permissions
    from agentnb.host.turns.inactivity import Inactivity, TurnChecks
    from agentnb.host.turns.turn_budget import TurnBudget
    from agentnb.state import ActionOrigin, Message, UsageInfo

CANCEL_GRACE = 10.0  # seconds an agent gets to answer after session/cancel
CANCELLED = "cancelled"
_STATES = {ChatTurnComplete: "complete", ChatTurnCancelled: "cancelled", ChatError: "error"}


class Turns:
    changes: ChangeTracker
    checks: TurnChecks
    budget: TurnBudget

    def __init__(
        self,
        channels: SessionChannels,
        lifecycle: AgentLifecycle,
        inactivity: Inactivity,
        loop: HostLoop,
        login: Login,
        *,
        permissions: Permissions,
        cancel_questions: Callable[[], None],
    ) -> None:
        self.cancel_grace = CANCEL_GRACE
        self._channels = channels
        self._lifecycle = lifecycle
        self._inactivity = inactivity
        self._loop = loop
        self._login = login
        self._permissions = permissions
        self._cancel_questions = cancel_questions
        self.queue: MessageQueue = MessageQueue(channels, lifecycle, self._begin)
        self._answer: asyncio.Future[None] | None = None
        self._unanswered = 0
        self._used: UsageInfo | None = None  # usage of the turn's prompts before the running one

    @property
    def settled(self) -> bool:
        """True if the agent has answered every prompt that it was sent."""
        return self._answer is None or self._answer.done()

    async def begin_unprompted(self, turn_id: str, message: Message) -> None:
        """Begin a turn that no prompt started: a program in a terminal calls tools."""
        self._announce(turn_id, message)
        await self.changes.begin(turn_id)

    def steer(self, message_id: str, message: Message, origin: ActionOrigin | None = None) -> None:
        """Add *message* to the running turn; if the agent cannot take it, it is the next in the queue."""
        channels, active = self._channels, self._channels.chat.state.active_turn
        agent, session_id = self._lifecycle.agent, self._lifecycle.session_id
        sent = active is not None and active.id == channels.prompted
        if active is None or agent is None or session_id is None or not sent or not agent.steers:
            self.queue.put_first(message_id, message, origin)
            return
        if Parts.of(active.response_parts).find(f"steer-{message_id}") >= 0:
            return  # a duplicate: the page sent it again
        steering, queued = PendingMessageKind.STEERING, PendingMessageKind.QUEUED
        channels.dispatch(ChatPendingMessageSet(kind=steering, id=message_id, message=message, time=now_ms()), origin)
        if channels.queued(message_id) is not None:
            channels.dispatch(ChatPendingMessageRemoved(kind=queued, id=message_id, time=now_ms()))
        self._unanswered += 1
        agent.prompt(session_id, message, partial(self._steered, active.id, message_id, message))
        channels.dispatch(ChatPendingMessageRemoved(kind=steering, id=message_id, time=now_ms()))
        part = UserMessageResponsePart(id=f"steer-{message_id}", content=message.text)
        channels.dispatch(ChatResponsePart(turn_id=active.id, part=part, time=now_ms()))
        TURN_STEERED.tell(tab=channels.tab_id, turn=active.id, _text=message.text)

    def send_now(self, message_id: str, origin: ActionOrigin | None = None) -> bool:
        """Send the waiting message *message_id* to the agent at once, as the user asked.

        It goes into the running turn if the agent supports that; otherwise that turn is cancelled and it is next.
        """
        waiting = self._channels.queued(message_id)
        if waiting is None:
            return False
        agent, active = self._lifecycle.agent, self._channels.chat.state.active_turn
        if active is not None and agent is not None and agent.steers:
            self.steer(message_id, waiting, origin)
            return True
        self.queue.put_first(message_id, waiting, origin)
        if active is not None:
            self.cancel(active.id)
        self.queue.pump()
        return True

    def cancel(
        self, turn_id: str, origin: ActionOrigin | None = None, *, keep: bool = False, hold: bool = False
    ) -> bool:
        """End turn *turn_id* if it runs, or take it out of the queue if it waits."""
        chat = self._channels.chat.state
        if chat.active_turn is not None and chat.active_turn.id == turn_id:
            self._permissions.cancel_all()
            queued = [each.id for each in chat.queued_messages or ()]
            held = True if hold and queued and not set(queued) & set(self.queue.awaited) else None
            ended = ChatTurnCancelled(turn_id=turn_id, stop_reason=CANCELLED, hold_queue=held, time=now_ms())
            self._end(ended, origin)
            self._stop_agent()
            self.queue.pump()
            return True
        waiting = self._channels.queued(turn_id)
        if waiting is not None and keep and chat.active_turn is None:
            self.queue.mentions.take(turn_id)
            self._channels.dispatch(_started(turn_id, waiting, turn_id))
            return self.cancel(turn_id, origin, hold=hold)
        return self.queue.remove(turn_id, origin)

    def fail(self, turn_id: str, error: AgentnbError) -> None:
        """End turn *turn_id* with *error* if it still runs."""
        if self._channels.is_active(turn_id):
            self._permissions.cancel_all()
            part = ErrorResponsePart(error=ErrorInfo(error_type=type(error).__name__, message=str(error)))
            self._end(ChatError(turn_id=turn_id, part=part, stop_reason="error", time=now_ms()))
            self._cancel_questions()
        self.queue.pump()

    def _end(self, ended: ChatTurnComplete | ChatTurnCancelled | ChatError, origin: ActionOrigin | None = None) -> None:
        active = self._channels.chat.state.active_turn
        began = active.started_at if active is not None else None
        took = None if began is None else max(0, now_ms() - milliseconds(began))
        self._permissions.mark_unasked_at_end()
        self._channels.dispatch(replace(ended, duration=took), origin)
        TURN_ENDED.tell(
            tab=self._channels.tab_id,
            turn=ended.turn_id,
            state=_STATES[type(ended)],
            stop_reason=ended.stop_reason,
            error=ended.part.error.message if isinstance(ended, ChatError) else None,
            milliseconds=took,
        )
        self.changes.ended(ended.turn_id)

    def _begin(
        self, turn_id: str, message: Message, *, queued_id: str | None = None, origin: ActionOrigin | None = None
    ) -> None:
        self._announce(turn_id, message, queued_id=queued_id, origin=origin)
        self._loop.spawn(self._run(turn_id, message))

    def _announce(
        self, turn_id: str, message: Message, *, queued_id: str | None = None, origin: ActionOrigin | None = None
    ) -> None:
        self._permissions.forget_grants()
        self._channels.dispatch(_started(turn_id, message, queued_id), origin)
        TURN_STARTED.tell(tab=self._channels.tab_id, turn=turn_id, _text=message.text)
        if note := self.queue.mentions.take(turn_id):
            self._channels.say(turn_id, note)
        if self._channels.session.state.status & SessionStatus.IS_READ:
            self._channels.dispatch(SessionIsReadChanged(is_read=False, time=now_ms()))

    async def _run(self, turn_id: str, message: Message, *, again: bool = False) -> None:
        try:
            await self._previous_answer()
            if not again:
                await self.changes.begin(turn_id)
            if not self._channels.is_active(turn_id):
                return  # cancelled meanwhile: nothing would stop an agent that starts now
            if not await self.budget.allows(turn_id):
                self.cancel(turn_id)
                return
            agent = await self._lifecycle.ready()
            self._lifecycle.choices.demand_model()
        except AgentnbError as error:
            self.fail(turn_id, error)
            return
        session_id = self._lifecycle.session_id
        if not self._channels.is_active(turn_id) or session_id is None:
            return
        self._lifecycle.notices.say(turn_id)
        self._answer, self._channels.prompted = asyncio.get_running_loop().create_future(), turn_id
        self._unanswered = 1
        active = self._channels.chat.state.active_turn
        self._used = active.usage if again and active is not None else None
        self._inactivity.begin()
        if missing := agent.capabilities.not_taken(message):
            self._lifecycle.notices.note(f"{agent.name} does not accept {', '.join(missing)}, so it got only the name.")
            self._lifecycle.notices.say(turn_id)
        agent.prompt(
            session_id, self._lifecycle.with_transcript(message), partial(self._answered, turn_id, message, again)
        )
        TURN_PROMPTED.tell(tab=self._channels.tab_id, turn=turn_id)
        self._channels.notify()

    async def _log_in(self, turn_id: str, message: Message, wanted: AuthenticationRequired) -> None:
        """The agent wants a login for a prompt: let the user log in, then send the prompt once more."""
        agent = self._lifecycle.agent
        try:
            if agent is None:
                raise wanted
            await self._login.ask(agent, wanted)
        except AgentnbError as error:
            self.fail(turn_id, error)
            return
        if self._channels.is_active(turn_id):
            await self._run(turn_id, message, again=True)

    async def answered(self) -> None:
        """Wait until the agent has answered the previous prompt, or the time for that is over."""
        if self._answer is not None and self._lifecycle.agent is not None:
            await asyncio.wait([self._answer], timeout=self.cancel_grace)

    async def _previous_answer(self) -> None:
        """Like :meth:`answered`, but ends an agent that never answers."""
        await self.answered()
        if not self.settled and (agent := self._lifecycle.agent) is not None:
            await agent.stop()

    def _answered(self, turn_id: str, message: Message, again: bool, result: PromptResult) -> None:
        self._unanswered -= 1
        stop_reason, usage, error = result
        if self._unanswered > 0 and error is None:
            self._count(turn_id, usage)
            return  # a steering message is not answered yet
        self._answered_now()
        if isinstance(error, AuthenticationRequired) and not again and self._channels.is_active(turn_id):
            self._loop.spawn(self._log_in(turn_id, message, error))
            return
        self._lifecycle.look_for_refusals("")
        if error is not None:
            if not self.budget.is_paused(turn_id):
                self.fail(turn_id, error)
                return
            stop_reason = CANCELLED  # some agents answer a cancel with an error
        else:
            self._lifecycle.worked()
        self._count(turn_id, usage)
        is_active = self._channels.is_active(turn_id)
        is_checked = stop_reason == "end_turn" and is_active and self.checks.wanted(turn_id)
        is_kept = is_active and self.budget.is_in_force
        if is_checked or is_kept or self._permissions.rehearsals.is_comparing:
            self._loop.spawn(self._complete_later(turn_id, stop_reason, is_checked=is_checked))
        else:
            self.complete(turn_id, stop_reason)

    async def _complete_later(self, turn_id: str, stop_reason: str | None, *, is_checked: bool) -> None:
        """Before the turn ends: wait for comparisons with previews, check its budget, and verify it if *is_checked*."""
        await self._permissions.rehearsals.compared()
        try:
            task = await self.budget.answered(turn_id, is_cancelled=stop_reason == CANCELLED)
        except AgentnbError as error:
            self.fail(turn_id, error)
            return
        if task is None and is_checked:
            task = await self.checks.task(turn_id)
        if task is None or not self._channels.is_active(turn_id):
            self.complete(turn_id, stop_reason)
        else:
            await self._run(turn_id, task, again=True)

    def complete(self, turn_id: str, stop_reason: str | None = "end_turn") -> None:
        """End turn *turn_id* if it still runs."""
        if self._channels.is_active(turn_id):
            ended = ChatTurnCancelled if stop_reason == CANCELLED else ChatTurnComplete
            self._end(ended(turn_id=turn_id, stop_reason=stop_reason, time=now_ms()))
        self.queue.pump()

    def _steered(self, turn_id: str, message_id: str, message: Message, result: PromptResult) -> None:
        """A steering message is answered; if the agent refused it, it is queued like any other."""
        refused = isinstance(result.error, AgentRefused)
        if refused and self._channels.is_active(turn_id):
            self.queue.put_first(message_id, message, None)
        self._answered(
            turn_id, message, True, result._replace(error=None) if refused and self._unanswered > 1 else result
        )

    async def pause(self, turn_id: str) -> None:
        """Stop the agent in turn *turn_id* at a limit of its budget; the turn may continue afterwards."""
        agent = self._lifecycle.agent
        exceeded = self.budget.exceeded
        self._stop_agent()
        await self.answered()
        if not self.settled and agent is not None:
            self.fail(turn_id, exceeded)
            await agent.stop()

    def _answered_now(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
            self._channels.prompted = None
        self._inactivity.end()
        self._channels.notify()

    def _count(self, turn_id: str, usage: UsageInfo | None) -> None:
        agent = self._lifecycle.agent
        if usage is not None:
            before = self._used or counted_before(self._channels.chat.state, turn_id)
            usage = turn_tokens(usage, before, agent.spec.counts_tokens if agent is not None else None)
            usage = added(self._used, usage)
            self._channels.dispatch_in_turn(turn_id, ChatUsage(turn_id=turn_id, usage=usage, time=now_ms()))

    def _stop_agent(self) -> None:
        agent, session_id = self._lifecycle.agent, self._lifecycle.session_id
        if not self.settled and agent is not None and session_id is not None:
            agent.cancel(session_id)
        self._inactivity.end()
        self._cancel_questions()


def _started(turn_id: str, message: Message, queued_id: str | None) -> ChatTurnStarted:
    now = now_ms()
    began = iso_time(now)
    return ChatTurnStarted(turn_id=turn_id, message=message, queued_message_id=queued_id, started_at=began, time=now)
