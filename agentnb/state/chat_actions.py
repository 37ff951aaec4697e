"""Actions of a chat channel: what waits, terminals, late words, and the union of them all."""

from __future__ import annotations

from agentnb.state.action import Action, ChatAction
from agentnb.state.chat_input_state import ChatInputAnswer, ChatInputRequest, ChatInputResponseKind
from agentnb.state.chat_message_state import Message, PendingMessageKind
from agentnb.state.terminal_views import TerminalView


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
