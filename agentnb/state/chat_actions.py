"""Actions of a chat channel: what waits, terminals, late words, and the union of them all."""

from __future__ import annotations

from typing import TypeAlias

from agentnb.state.action import Action, KnownAction
from agentnb.state.chat_input_state import ChatInputAnswer, ChatInputRequest, ChatInputResponseKind
from agentnb.state.chat_message_state import Message, PendingMessageKind
from agentnb.state.chat_state import TerminalView
from agentnb.state.chat_tool_actions import (
    ChatToolCallComplete,
    ChatToolCallConfirmed,
    ChatToolCallContentChanged,
    ChatToolCallDelta,
    ChatToolCallReady,
    ChatToolCallResultConfirmed,
    ChatToolCallStart,
    XToolCallDetailsChanged,
)
from agentnb.state.chat_turn_actions import (
    ChatDelta,
    ChatError,
    ChatReasoning,
    ChatResponsePart,
    ChatTruncated,
    ChatTurnCancelled,
    ChatTurnComplete,
    ChatTurnStarted,
    ChatUsage,
    XPartRemoved,
    XPlanSet,
    XUserMessageDelta,
)


class ChatPendingMessageSet(KnownAction, frozen=True, kw_only=True, tag="chat/pendingMessageSet"):
    """A message waits; the same id again replaces it (AHP ``chat/pendingMessageSet``).

    Args:
        kind: ``"steering"``: goes into the running turn; ``"queued"``: starts a turn of its own.
        id: Its id.
        message: The message.
    """

    kind: PendingMessageKind
    id: str
    message: Message


class ChatPendingMessageRemoved(KnownAction, frozen=True, kw_only=True, tag="chat/pendingMessageRemoved"):
    """A waiting message is taken back (AHP ``chat/pendingMessageRemoved``)."""

    kind: PendingMessageKind
    id: str


class ChatQueuedMessagesReordered(KnownAction, frozen=True, kw_only=True, tag="chat/queuedMessagesReordered"):
    """Another order of the queued messages (AHP ``chat/queuedMessagesReordered``).

    Args:
        order: Ids; messages not named follow in the order they had.
        held: Ours: whether the named messages are held from now on; absent, that does not change.
    """

    order: tuple[str, ...]
    held: bool | None = None


class ChatInputRequested(KnownAction, frozen=True, kw_only=True, tag="chat/inputRequested"):
    """The agent asks for input; the same id again replaces the request (AHP ``chat/inputRequested``)."""

    request: ChatInputRequest


class ChatInputAnswerChanged(KnownAction, frozen=True, kw_only=True, tag="chat/inputAnswerChanged"):
    """An answer was drafted, given, skipped or, with ``None``, withdrawn (AHP ``chat/inputAnswerChanged``)."""

    request_id: str
    question_id: str
    answer: ChatInputAnswer | None = None


class ChatInputCompleted(KnownAction, frozen=True, kw_only=True, tag="chat/inputCompleted"):
    """A request for input is settled and goes away (AHP ``chat/inputCompleted``).

    Args:
        request_id: The request.
        response: ``"accept"``, ``"decline"`` or ``"cancel"``.
        answers: The final answers, by question id; ``None``: those in the state.
    """

    request_id: str
    response: ChatInputResponseKind
    answers: dict[str, ChatInputAnswer] | None = None


class XLate(KnownAction, frozen=True, kw_only=True, tag="x-agentnb/late"):
    """Ours: an action on a turn that is already finished, as some agents go on talking.

    Args:
        turn_id: The finished turn.
        action: A chat action on that turn.
    """

    turn_id: str
    action: Action


class XTerminalOpened(KnownAction, frozen=True, kw_only=True, tag="x-agentnb/terminalOpened"):
    """Ours: the agent opened a terminal (ACP ``terminal/create``)."""

    terminal: TerminalView


class XTerminalData(KnownAction, frozen=True, kw_only=True, tag="x-agentnb/terminalData"):
    """Ours: a terminal printed something."""

    terminal_id: str
    data: str


class XTerminalExited(KnownAction, frozen=True, kw_only=True, tag="x-agentnb/terminalExited"):
    """Ours: a terminal's program ended (ACP ``TerminalExitStatus``)."""

    terminal_id: str
    exit_code: int | None = None
    signal: str | None = None


ChatAction: TypeAlias = (
    ChatTurnStarted
    | ChatDelta
    | ChatReasoning
    | ChatResponsePart
    | ChatTurnComplete
    | ChatTurnCancelled
    | ChatError
    | ChatUsage
    | ChatTruncated
    | ChatToolCallStart
    | ChatToolCallDelta
    | ChatToolCallReady
    | ChatToolCallConfirmed
    | ChatToolCallComplete
    | ChatToolCallResultConfirmed
    | ChatToolCallContentChanged
    | ChatPendingMessageSet
    | ChatPendingMessageRemoved
    | ChatQueuedMessagesReordered
    | ChatInputRequested
    | ChatInputAnswerChanged
    | ChatInputCompleted
    | XPlanSet
    | XPartRemoved
    | XUserMessageDelta
    | XToolCallDetailsChanged
    | XLate
    | XTerminalOpened
    | XTerminalData
    | XTerminalExited
)
"""The actions of a chat channel."""
