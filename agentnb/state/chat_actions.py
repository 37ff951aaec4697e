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
    """A message waits; it replaces one with the same id (AHP ``chat/pendingMessageSet``).

    Args:
        kind: ``"steering"``: goes into the running turn; ``"queued"``: starts its own turn.
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
    """The queued messages get another order (AHP ``chat/queuedMessagesReordered``).

    Args:
        order: Ids; other messages follow in their previous order.
        held: Ours: True if the named messages are held from now on, False if not; ``None`` changes nothing.
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
    """A request for input is settled and removed (AHP ``chat/inputCompleted``).

    Args:
        request_id: The request.
        response: ``"accept"``, ``"decline"`` or ``"cancel"``.
        answers: The final answers, by question id; ``None``: the answers in the state.
    """

    request_id: str
    response: ChatInputResponseKind
    answers: dict[str, ChatInputAnswer] | None = None


class XLate(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/late"):
    """Ours: an action on a turn that has already finished, since some agents continue to send updates.

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
        display_name: The name for people.
        contributor: The source of the tool.
        details: Ours: the details from ACP that AHP has no field for.
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
    """The input is complete, or a running tool needs permission again (AHP ``chat/toolCallReady``).

    Args:
        invocation_message: What the tool will do.
        tool_input: Its input.
        confirmation_title: A short title for the permission request.
        edits: The edits it will make.
        editable: True if the user may change the input.
        confirmed: Why it may run at once; ``None``: someone must allow it first.
        options: The possible answers.
        risk: Ours: its risk and kind.
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
    """The answer to the permission request of a tool call (AHP ``chat/toolCallConfirmed``).

    Args:
        approved: True if the tool may run.
        confirmed: Why, if approved: ``"user-action"`` (the default), ``"setting"``, ``"not-needed"``.
        edited_tool_input: The input as the user changed it.
        reason: Why, if not: ``"denied"`` (the default) or ``"skipped"``.
        reason_message: The same for people.
        user_suggestion: What the agent should do instead.
        selected_option_id: The option that was chosen.
        answered_by: Ours: who answered. The host sets it; a client need not.
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
    """The tool call has ended (AHP ``chat/toolCallComplete``).

    Args:
        result: The result.
        requires_result_confirmation: True if someone must allow the use of the result.
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
    """Ours: the details from ACP that AHP has no field for, in any state of the call (ACP ``tool_call_update``).

    Args:
        display_name: A new name for people.
        details: Fields that are not ``None`` replace the old ones, ``content`` as a whole.
    """

    display_name: str | None = None
    details: ToolCallDetails


class ChatTurnStarted(ChatAction, frozen=True, kw_only=True, tag="chat/turnStarted"):
    """A turn begins (AHP ``chat/turnStarted``). Starting the same turn again changes nothing.

    Args:
        turn_id: UUID v4 made by the client that prompts.
        message: The prompt.
        queued_message_id: The id of the waiting message that becomes this prompt and leaves its queue.
        started_at: The start time in ISO 8601, by the host's own clock.
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
"""The actions that add text: adjacent ones are merged, counted and continued."""


class ChatResponsePart(TurnContentAction, frozen=True, kw_only=True, tag="chat/responsePart"):
    """A new part of the answer (AHP ``chat/responsePart``)."""

    turn_id: str
    part: ResponsePart


class ChatTurnComplete(ChatAction, frozen=True, kw_only=True, tag="chat/turnComplete"):
    """The turn is complete (AHP ``chat/turnComplete``).

    Args:
        turn_id: The running turn.
        stop_reason: Ours: ACP ``StopReason`` as sent.
        duration: The turn's duration, in milliseconds.
    """

    turn_id: str
    stop_reason: str | None = None
    duration: Number | None = None


class ChatTurnCancelled(ChatAction, frozen=True, kw_only=True, tag="chat/turnCancelled"):
    """The turn was cancelled (AHP ``chat/turnCancelled``).

    Args:
        turn_id: The running turn.
        stop_reason: Ours: ACP ``StopReason`` as sent.
        duration: The turn's duration, in milliseconds.
        hold_queue: Ours: True if the messages in the queue are held until the user continues.
    """

    turn_id: str
    stop_reason: str | None = None
    duration: Number | None = None
    hold_queue: bool | None = None


class ChatError(ChatAction, frozen=True, kw_only=True, tag="chat/error"):
    """The turn failed (AHP ``chat/error``).

    Args:
        turn_id: The running turn.
        part: The error, as the last part of the answer.
        stop_reason: Ours: ACP ``StopReason`` as sent.
        duration: The turn's duration, in milliseconds.
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
    """The history is cut after a turn; the running turn is removed, too (AHP ``chat/truncated``).

    Args:
        turn_id: The last turn to keep; ``None`` keeps none.
    """

    turn_id: str | None = None


class XPlanSet(TurnContentAction, frozen=True, kw_only=True, tag="x-agentnb/planSet"):
    """Ours: the agent's plan, new or replaced as a whole (ACP ``plan``).

    Args:
        turn_id: The running turn.
        part_id: The plan's part; created if it does not exist.
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
    """Ours: the numbers of changes in a finished turn; the changes themselves are in its changeset channel.

    Args:
        turn_id: The finished turn.
        changes: The numbers; they replace earlier ones.
    """

    since: ClassVar[int] = 2

    turn_id: str
    changes: TurnChanges


class XPromptSuggestionsChanged(ChatAction, frozen=True, kw_only=True, tag="x-agentnb/promptSuggestionsChanged"):
    """Ours: the prompts that the agent expects the user to send next (ACP ``prompt_suggestions_update``).

    Args:
        suggestions: All of them, the most likely first; an empty list removes the earlier ones.
    """

    since: ClassVar[int] = 2

    suggestions: tuple[str, ...]
