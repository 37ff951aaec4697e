"""Actions on a chat's turns and on the text of the running one."""

from __future__ import annotations

from typing import ClassVar

from agentnb.state.action import ChatAction, TurnContentAction
from agentnb.state.chat_message_state import Message
from agentnb.state.chat_part_state import ErrorResponsePart, PlanEntry, ResponsePart
from agentnb.state.chat_state import TurnChanges, UsageInfo
from agentnb.state.wire import Number


class ChatTurnStarted(ChatAction, frozen=True, kw_only=True, tag="chat/turnStarted"):
    """A turn begins (AHP ``chat/turnStarted``). Starting the same turn again changes nothing.

    Args:
        turn_id: UUID v4 made by whoever prompts.
        message: The prompt.
        queued_message_id: The waiting message that it was, which is taken out of its queue.
        started_at: When, ISO 8601; the host's own clock counts.
    """

    turn_id: str
    message: Message
    queued_message_id: str | None = None
    started_at: str | None = None


class ChatDelta(TurnContentAction, frozen=True, kw_only=True, tag="chat/delta"):
    """More text for a Markdown part (AHP ``chat/delta``)."""

    turn_id: str
    part_id: str
    content: str


class ChatReasoning(TurnContentAction, frozen=True, kw_only=True, tag="chat/reasoning"):
    """More text for a reasoning part (AHP ``chat/reasoning``)."""

    turn_id: str
    part_id: str
    content: str


TEXT_DELTAS = (ChatDelta, ChatReasoning)
"""The actions that add text: neighbours are merged, counted and continued."""


class ChatResponsePart(TurnContentAction, frozen=True, kw_only=True, tag="chat/responsePart"):
    """A new part of the answer (AHP ``chat/responsePart``)."""

    turn_id: str
    part: ResponsePart


class ChatTurnComplete(ChatAction, frozen=True, kw_only=True, tag="chat/turnComplete"):
    """The turn is over (AHP ``chat/turnComplete``).

    Args:
        turn_id: The running turn.
        stop_reason: Ours: ACP ``StopReason`` as sent.
        duration: How long it took, in milliseconds.
    """

    turn_id: str
    stop_reason: str | None = None
    duration: Number | None = None


class ChatTurnCancelled(ChatAction, frozen=True, kw_only=True, tag="chat/turnCancelled"):
    """The turn was broken off (AHP ``chat/turnCancelled``).

    Args:
        turn_id: The running turn.
        stop_reason: Ours: ACP ``StopReason`` as sent.
        duration: How long it took, in milliseconds.
        hold_queue: Ours: whether the messages in the queue are held until the user continues.
    """

    turn_id: str
    stop_reason: str | None = None
    duration: Number | None = None
    hold_queue: bool | None = None


class ChatError(ChatAction, frozen=True, kw_only=True, tag="chat/error"):
    """The turn failed (AHP ``chat/error``).

    Args:
        turn_id: The running turn.
        part: What went wrong, as the last part of the answer.
        stop_reason: Ours: ACP ``StopReason`` as sent.
        duration: How long it took, in milliseconds.
    """

    turn_id: str
    part: ErrorResponsePart
    stop_reason: str | None = None
    duration: Number | None = None


class ChatUsage(TurnContentAction, frozen=True, kw_only=True, tag="chat/usage"):
    """Tokens that the turn has used so far (AHP ``chat/usage``)."""

    turn_id: str
    usage: UsageInfo


class ChatTruncated(ChatAction, frozen=True, kw_only=True, tag="chat/truncated"):
    """The history is cut short; the running turn goes with it (AHP ``chat/truncated``).

    Args:
        turn_id: The last turn to keep; ``None`` keeps none.
    """

    turn_id: str | None = None


class XPlanSet(TurnContentAction, frozen=True, kw_only=True, tag="x-agentnb/planSet"):
    """Ours: the agent's plan, new or replaced whole (ACP ``plan``).

    Args:
        turn_id: The running turn.
        part_id: The plan's part; made when it is not there.
        plan_id: The agent's own id of the plan.
        entries: All steps.
    """

    turn_id: str
    part_id: str
    plan_id: str | None = None
    entries: tuple[PlanEntry, ...]


class XPartRemoved(TurnContentAction, frozen=True, kw_only=True, tag="x-agentnb/partRemoved"):
    """Ours: a part is taken back (ACP ``plan_removed``)."""

    turn_id: str
    part_id: str


class XUserMessageDelta(TurnContentAction, frozen=True, kw_only=True, tag="x-agentnb/userMessageDelta"):
    """Ours: more text for a user-message part (ACP ``user_message_chunk``)."""

    turn_id: str
    part_id: str
    content: str


class XTurnChanges(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/turnChanges"):
    """Ours: what a finished turn changed, in numbers; the changes themselves are in its change-set channel.

    Args:
        turn_id: The finished turn.
        changes: The numbers; they take the place of earlier ones.
    """

    since: ClassVar[int] = 2

    turn_id: str
    changes: TurnChanges


class XPromptSuggestionsChanged(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/promptSuggestionsChanged"):
    """Ours: the prompts that the agent expects the user to send next (ACP ``prompt_suggestions_update``).

    Args:
        suggestions: All of them, the most likely first; none takes back those on offer.
    """

    since: ClassVar[int] = 2

    suggestions: tuple[str, ...]
