"""Turns: one at a time within a session, later prompts queue, and a cancelled turn is over at once.

A turn is over in the *state* as soon as the user cancels it; the *agent* may need a moment to notice. The next prompt
is sent only after the agent has answered the last one, and an agent that does not answer in time is stopped.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError
from agentnb.host.clock import now_ms
from agentnb.host.prompt import prompt_blocks
from agentnb.state import (
    ChatError,
    ChatPendingMessageRemoved,
    ChatPendingMessageSet,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnStarted,
    ChatUsage,
    ErrorInfo,
    PendingMessageKind,
    SessionIsReadChanged,
    SessionStatus,
    UsageInfo,
    XLate,
)

if TYPE_CHECKING:
    from agentnb.host.conversation import Conversation
    from agentnb.state import ActionOrigin, Message

CANCEL_GRACE = 10.0  # seconds an agent gets to answer after session/cancel
CANCELLED = "cancelled"


class Turns:
    """The turns of one conversation, running and waiting.

    Args:
        conversation: Whose chat and agent they use.
        cancel_grace: Seconds that an agent gets to answer a cancelled prompt before its process is ended.
    """

    def __init__(self, conversation: Conversation, *, cancel_grace: float = CANCEL_GRACE) -> None:
        self._conversation = conversation
        self.cancel_grace = cancel_grace
        self._answer: asyncio.Future[None] | None = None
        self._prompted: str | None = None

    @property
    def speaking(self) -> str | None:
        """The turn that what the agent says now belongs to: the one whose prompt it answers, else the latest."""
        chat = self._conversation.chat.state
        if not self.settled:
            return self._prompted
        if chat.active_turn is not None:
            return chat.active_turn.id
        return chat.turns[-1].id if chat.turns else None

    @property
    def settled(self) -> bool:
        """Whether the agent has answered every prompt that it was sent."""
        return self._answer is None or self._answer.done()

    def prompt(self, turn_id: str, message: Message, origin: ActionOrigin | None = None) -> None:
        """Start a turn with *message*, or queue it behind the running one."""
        chat = self._conversation.chat.state
        if chat.active_turn is None and not chat.queued_messages:
            self._begin(turn_id, message, origin=origin)
        else:
            queued = ChatPendingMessageSet(kind=PendingMessageKind.QUEUED, id=turn_id, message=message, time=now_ms())
            self._conversation.dispatch(queued, origin)
            self.pump()  # what a restored session has waiting runs first

    def pump(self) -> None:
        """Start the first waiting prompt where nothing runs."""
        chat = self._conversation.chat.state
        if chat.active_turn is None and chat.queued_messages:
            first = chat.queued_messages[0]
            self._begin(first.id, first.message, queued_id=first.id)

    def cancel(self, turn_id: str, origin: ActionOrigin | None = None) -> bool:
        """End turn *turn_id* where it runs, or take it out of the queue where it waits."""
        chat = self._conversation.chat.state
        if chat.active_turn is not None and chat.active_turn.id == turn_id:
            cancelled = ChatTurnCancelled(turn_id=turn_id, stop_reason=CANCELLED, time=now_ms())
            self._conversation.dispatch(cancelled, origin)
            self._stop_agent()
            self.pump()
            return True
        if any(waiting.id == turn_id for waiting in chat.queued_messages or ()):
            removed = ChatPendingMessageRemoved(kind=PendingMessageKind.QUEUED, id=turn_id, time=now_ms())
            self._conversation.dispatch(removed, origin)
            return True
        return False

    def fail(self, turn_id: str, error: AgentnbError) -> None:
        """End turn *turn_id* with *error*, where it still runs."""
        if self._is_active(turn_id):
            info = ErrorInfo(error_type=type(error).__name__, message=str(error))
            self._conversation.dispatch(ChatError(turn_id=turn_id, error=info, stop_reason="error", time=now_ms()))
            self._conversation.permissions.cancel_all()
        self.pump()

    def _begin(
        self, turn_id: str, message: Message, *, queued_id: str | None = None, origin: ActionOrigin | None = None
    ) -> None:
        self._conversation.permissions.forget_grants()
        started = ChatTurnStarted(turn_id=turn_id, message=message, queued_message_id=queued_id, time=now_ms())
        self._conversation.dispatch(started, origin)
        if self._conversation.session.state.summary.status & SessionStatus.IS_READ:
            self._conversation.dispatch(SessionIsReadChanged(is_read=False, time=now_ms()))
        self._conversation.host.loop.spawn(self._run(turn_id, message))

    async def _run(self, turn_id: str, message: Message) -> None:
        try:
            await self._previous_answer()
            agent = await self._conversation.ready()
        except AgentnbError as error:
            self.fail(turn_id, error)
            return
        session_id = self._conversation.session_id
        if not self._is_active(turn_id) or session_id is None:
            return
        self._answer, self._prompted = asyncio.get_running_loop().create_future(), turn_id
        blocks = prompt_blocks(message, agent.prompt_capabilities)
        agent.prompt(session_id, blocks, partial(self._answered, turn_id))

    async def _previous_answer(self) -> None:
        """Wait until the agent has answered the prompt before; an agent that never does is ended."""
        agent = self._conversation.agent
        if self._answer is None or agent is None:
            return
        await asyncio.wait([self._answer], timeout=self.cancel_grace)
        if not self.settled:
            await agent.stop()

    def _answered(self, turn_id: str, result: Any, error: AgentnbError | None) -> None:
        self._answered_now()
        if error is not None:
            self.fail(turn_id, error)
            return
        stop_reason, usage = _read(result)
        if usage is not None:
            self._in_turn(turn_id, ChatUsage(turn_id=turn_id, usage=usage, time=now_ms()))
        if self._is_active(turn_id):
            ended = ChatTurnCancelled if stop_reason == CANCELLED else ChatTurnComplete
            self._conversation.dispatch(ended(turn_id=turn_id, stop_reason=stop_reason, time=now_ms()))
        self.pump()

    def _answered_now(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
        self._conversation.notify()

    def _in_turn(self, turn_id: str, action: Any) -> None:
        late = not self._is_active(turn_id)
        self._conversation.dispatch(XLate(turn_id=turn_id, action=action, time=now_ms()) if late else action)

    def _stop_agent(self) -> None:
        agent, session_id = self._conversation.agent, self._conversation.session_id
        if not self.settled and agent is not None and session_id is not None:
            agent.cancel(session_id)
        self._conversation.permissions.cancel_all()

    def _is_active(self, turn_id: str) -> bool:
        active = self._conversation.chat.state.active_turn
        return active is not None and active.id == turn_id


def _read(result: Any) -> tuple[str, UsageInfo | None]:
    """The stop reason and the tokens of a prompt's answer (ACP ``PromptResponse``); odd fields are passed over."""
    answer = result if isinstance(result, dict) else {}
    stop_reason = answer.get("stopReason")
    usage = answer.get("usage")
    tokens = None
    if isinstance(usage, dict):
        tokens = UsageInfo(
            input_tokens=_count(usage.get("inputTokens")),
            output_tokens=_count(usage.get("outputTokens")),
            cache_read_tokens=_count(usage.get("cachedReadTokens")),
        )
    return (stop_reason if isinstance(stop_reason, str) else "end_turn"), tokens


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
