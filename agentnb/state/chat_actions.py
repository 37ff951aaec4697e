"""The actions of a chat: messages, turns and tool calls."""

from __future__ import annotations

from typing import ClassVar

from agentnb.state.action import Action, ChatAction, TurnContentAction
from agentnb.state.chat_message_state import (
    ChatInputAnswer,
    ChatInputRequest,
    ChatInputResponseKind,
    Message,
    PendingMessageKind,
)
from agentnb.state.chat_part_state import ErrorResponsePart, PlanEntry, ResponsePart
from agentnb.state.chat_state import TurnChanges, UsageInfo
from agentnb.state.chat_tool_content import ToolResultContent
from agentnb.state.chat_tool_state import (
    Answerer,
    ConfirmationOption,
    ToolCallContributor,
    ToolCallDetails,
    ToolCallResult,
    ToolCallRisk,
)
from agentnb.state.terminal import TerminalView
from agentnb.state.wire import JsonObject, Number, StringOrMarkdown


class ChatPendingMessageSet(ChatAction, frozen=True, kw_only=True, tag="chat/pendingMessageSet"):
    """A message waits; the same id again replaces it (AHP ``chat/pendingMessageSet``).

    Args:
        kind: ``"steering"``: goes into the running turn; ``"queued"``: starts a turn of its own.
        id: Its id.
        message: The message.
    """

    kind: PendingMessageKind
    id: str
    message: Message


class ChatPendingMessageRemoved(ChatAction, frozen=True, kw_only=True, tag="chat/pendingMessageRemoved"):
    """A waiting message is taken back (AHP ``chat/pendingMessageRemoved``)."""

    kind: PendingMessageKind
    id: str


class ChatQueuedMessagesReordered(ChatAction, frozen=True, kw_only=True, tag="chat/queuedMessagesReordered"):
    """Another order of the queued messages (AHP ``chat/queuedMessagesReordered``).

    Args:
        order: Ids; messages not named follow in the order they had.
        held: Ours: whether the named messages are held from now on; absent, that does not change.
    """

    order: tuple[str, ...]
    held: bool | None = None


class ChatInputRequested(ChatAction, frozen=True, kw_only=True, tag="chat/inputRequested"):
    """The agent asks for input; the same id again replaces the request (AHP ``chat/inputRequested``)."""

    request: ChatInputRequest


class ChatInputAnswerChanged(ChatAction, frozen=True, kw_only=True, tag="chat/inputAnswerChanged"):
    """An answer was drafted, given, skipped or, with ``None``, withdrawn (AHP ``chat/inputAnswerChanged``)."""

    request_id: str
    question_id: str
    answer: ChatInputAnswer | None = None


class ChatInputCompleted(ChatAction, frozen=True, kw_only=True, tag="chat/inputCompleted"):
    """A request for input is settled and goes away (AHP ``chat/inputCompleted``).

    Args:
        request_id: The request.
        response: ``"accept"``, ``"decline"`` or ``"cancel"``.
        answers: The final answers, by question id; ``None``: those in the state.
    """

    request_id: str
    response: ChatInputResponseKind
    answers: dict[str, ChatInputAnswer] | None = None


class XLate(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/late"):
    """Ours: an action on a turn that is already finished, as some agents go on talking.

    Args:
        turn_id: The finished turn.
        action: A chat action on that turn.
    """

    turn_id: str
    action: Action


class XTerminalOpened(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/terminalOpened"):
    """Ours: the agent opened a terminal (ACP ``terminal/create``)."""

    terminal: TerminalView


class XTerminalData(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/terminalData"):
    """Ours: a terminal printed something."""

    terminal_id: str
    data: str


class XTerminalExited(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/terminalExited"):
    """Ours: a terminal's program ended (ACP ``TerminalExitStatus``)."""

    terminal_id: str
    exit_code: int | None = None
    signal: str | None = None


class ToolCallAction(TurnContentAction, frozen=True, kw_only=True, tag_field="type"):
    """What all of these name (AHP ``ToolCallActionBase``). Their ``_meta`` replaces the tool call's."""

    turn_id: str
    tool_call_id: str


class ChatToolCallStart(ToolCallAction, frozen=True, kw_only=True, tag="chat/toolCallStart"):
    """A tool call begins (AHP ``chat/toolCallStart``). Starting the same call again changes nothing.

    Args:
        tool_name: The tool's own name.
        display_name: The name people read.
        contributor: Where the tool comes from.
        details: Ours: what ACP says beyond AHP.
    """

    tool_name: str
    display_name: str
    contributor: ToolCallContributor | None = None
    details: ToolCallDetails | None = None


class ChatToolCallDelta(ToolCallAction, frozen=True, kw_only=True, tag="chat/toolCallDelta"):
    """More of the input, as the model writes it (AHP ``chat/toolCallDelta``)."""

    content: str
    invocation_message: StringOrMarkdown | None = None


class ChatToolCallReady(ToolCallAction, frozen=True, kw_only=True, tag="chat/toolCallReady"):
    """The input is whole, or a running tool needs leave again (AHP ``chat/toolCallReady``).

    Args:
        invocation_message: What the tool will do.
        tool_input: Its input.
        confirmation_title: A short title for the question.
        edits: The edits it will make.
        editable: Whether the input may be changed first.
        confirmed: Why it may run at once; ``None`` means that it must be allowed first.
        options: The answers on offer.
        risk: Ours: how bad it can be, and what it is like.
    """

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmation_title: StringOrMarkdown | None = None
    edits: JsonObject | None = None
    editable: bool | None = None
    confirmed: str | None = None
    options: tuple[ConfirmationOption, ...] | None = None
    risk: ToolCallRisk | None = None


class ChatToolCallConfirmed(ToolCallAction, frozen=True, kw_only=True, tag="chat/toolCallConfirmed"):
    """The answer to the question whether a tool may run (AHP ``chat/toolCallConfirmed``).

    Args:
        approved: Yes or no.
        confirmed: Why yes: ``"user-action"`` (the default), ``"setting"``, ``"not-needed"``.
        edited_tool_input: The input as the user changed it.
        reason: Why no: ``"denied"`` (the default) or ``"skipped"``.
        reason_message: Why no, for people.
        user_suggestion: What to do instead.
        selected_option_id: The option that was chosen.
        answered_by: Ours: who answered; the host's word, a client need not give it.
    """

    approved: bool
    confirmed: str | None = None
    edited_tool_input: str | None = None
    reason: str | None = None
    reason_message: StringOrMarkdown | None = None
    user_suggestion: Message | None = None
    selected_option_id: str | None = None
    answered_by: Answerer | None = None


class ChatToolCallComplete(ToolCallAction, frozen=True, kw_only=True, tag="chat/toolCallComplete"):
    """The tool has ended (AHP ``chat/toolCallComplete``).

    Args:
        result: How.
        requires_result_confirmation: Whether someone must allow the result to be used.
    """

    result: ToolCallResult
    requires_result_confirmation: bool | None = None


class ChatToolCallResultConfirmed(ToolCallAction, frozen=True, kw_only=True, tag="chat/toolCallResultConfirmed"):
    """The answer to the question whether a result may be used (AHP ``chat/toolCallResultConfirmed``)."""

    approved: bool


class ChatToolCallContentChanged(ToolCallAction, frozen=True, kw_only=True, tag="chat/toolCallContentChanged"):
    """What a running tool shows so far (AHP ``chat/toolCallContentChanged``)."""

    content: tuple[ToolResultContent, ...]


class XToolCallDetailsChanged(ToolCallAction, frozen=True, kw_only=True, tag="x-agentnb/toolCallDetailsChanged"):
    """Ours: what ACP says beyond AHP, in whatever state the call is (ACP ``tool_call_update``).

    Args:
        display_name: A new name for people.
        details: Fields that are not ``None`` win over the old ones; ``content`` replaces.
    """

    display_name: str | None = None
    details: ToolCallDetails


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
