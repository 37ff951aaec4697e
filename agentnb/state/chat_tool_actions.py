"""Actions on the tool calls of the running turn."""

from __future__ import annotations

from agentnb.state.action import TurnContentAction
from agentnb.state.chat_message_state import Message
from agentnb.state.chat_tool_content import ToolResultContent
from agentnb.state.chat_tool_state import (
    Answerer,
    ConfirmationOption,
    ToolCallContributor,
    ToolCallDetails,
    ToolCallResult,
    ToolCallRisk,
)
from agentnb.state.wire import JsonObject, StringOrMarkdown


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
