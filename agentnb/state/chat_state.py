"""A chat: its finished turns, the running one, and what waits (channel ``<agent>:/<tab id>/chat``)."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from agentnb.state.chat_message_state import ChatInputRequest, Message, PendingMessage
from agentnb.state.chat_part_state import ErrorResponsePart
from agentnb.state.chat_tool_content import DataCheck
from agentnb.state.parts import ResponseParts
from agentnb.state.terminal import TerminalSequence
from agentnb.state.wire import AgentSelection, ErrorInfo, JsonObject, ModelSelection, Number, Wire

TurnState: TypeAlias = Literal["complete", "cancelled", "error"]
"""The outcome of a turn (AHP ``TurnState``)."""


class UsageInfo(Wire, frozen=True, kw_only=True):
    """Tokens that a turn has used (AHP ``UsageInfo``)."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    cache_read_tokens: int | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")


class TurnChanges(Wire, frozen=True, kw_only=True):
    """Ours: the numbers of changes in a turn; the changes themselves are in its changeset channel.

    Args:
        status: ``"computing"`` while the workspace is compared, ``"ready"``, or ``"error"``.
        error: Why the changes are not known.
        files: Number of changed files.
        added: Number of added lines, in files whose lines can be counted.
        removed: Number of removed lines, in the same files.
        cells: Number of changed cells.
        variables: Number of changed variables.
        undone: Number of changes that are undone.
        kept: Number of changes that the user has accepted.
        undoable: Number of changes that could be undone now; absent if not known.
        notes: What the numbers do not cover, or what cannot be undone: whole sentences.
        data_checks: Possible problems in the tables that the turn changed.
    """

    status: Literal["computing", "ready", "error"]
    error: ErrorInfo | None = None
    files: int = 0
    added: int = 0
    removed: int = 0
    cells: int = 0
    variables: int = 0
    undone: int = 0
    kept: int = 0
    undoable: int | None = None
    notes: tuple[str, ...] | None = None
    data_checks: tuple[DataCheck, ...] | None = None


class ActiveTurn(Wire, frozen=True, kw_only=True):
    """The running turn (AHP ``ActiveTurn``).

    Args:
        id: UUID v4 made by the client that prompted.
        message: The message that started it.
        response_parts: The answer so far, in order of arrival.
        usage: The tokens used so far.
        started_at: Its start time, ISO 8601.
    """

    id: str
    started_at: str | None = None
    message: Message
    response_parts: ResponseParts
    usage: UsageInfo | None = None


class Turn(Wire, frozen=True, kw_only=True):
    """A finished turn (AHP ``Turn``).

    Args:
        id: UUID v4 made by the client that prompted.
        message: The message that started it.
        started_at: Its start time, ISO 8601.
        duration: Its duration in milliseconds; ``None`` if nobody saw its end.
        response_parts: The answer, in order of arrival; if an error ended it, that is the last part.
        usage: The tokens used.
        state: How it ended.
        stop_reason: Ours: ACP ``StopReason`` as sent (``"end_turn"``, ``"max_tokens"`` …).
        changes: Ours: the numbers of its changes; ``None`` if nobody looked for changes.
    """

    id: str
    started_at: str | None = None
    duration: Number | None = None
    message: Message
    response_parts: ResponseParts
    usage: UsageInfo | None = None
    state: TurnState
    stop_reason: str | None = None
    changes: TurnChanges | None = None

    @property
    def error(self) -> ErrorInfo | None:
        """Returns what went wrong, where the turn ended with an error."""
        parts = reversed(self.response_parts) if self.state == "error" else ()  # late parts follow the error
        return next((part.error for part in parts if isinstance(part, ErrorResponsePart)), None)


class ChatOrigin(Wire, frozen=True, kw_only=True):
    """The origin of a chat (AHP ``ChatOrigin``).

    Args:
        kind: ``"user"``, ``"fork"`` or ``"tool"``.
        chat: The chat that it comes from.
        turn_id: The turn where it was forked.
        tool_call_id: The tool call that started it.
    """

    kind: str
    chat: str | None = None
    turn_id: str | None = None
    tool_call_id: str | None = None


class ChatSummary(Wire, frozen=True, kw_only=True):
    """A chat in the list of its session (AHP ``ChatSummary``).

    Args:
        resource: The chat's URI.
        title: Its title.
        status: `SessionStatus` bits.
        activity: Its current activity, for people.
        modified_at: ISO 8601 time of the last change.
        model: The chat's own model.
        agent: The chat's own custom agent.
        origin: Its origin.
        interactivity: How the user may take part.
        working_directories: The chat's own folders, as URIs.
    """

    resource: str
    title: str
    status: int
    activity: str | None = None
    modified_at: str
    model: ModelSelection | None = None
    agent: AgentSelection | None = None
    origin: ChatOrigin | None = None
    interactivity: str | None = None
    working_directories: tuple[str, ...] | None = None


class ChatState(Wire, frozen=True, kw_only=True):
    """Everything about one chat (AHP ``ChatState``).

    Args:
        resource: The chat's URI.
        title: Its title.
        status: `SessionStatus` bits.
        activity: Its current activity, for people.
        modified_at: ISO 8601 time of the last change.
        model: The chat's own model.
        agent: The chat's own custom agent.
        origin: Its origin.
        interactivity: How the user may take part.
        working_directories: The chat's own folders, as URIs.
        turns: The finished turns, oldest first.
        active_turn: The running turn.
        steering_message: A message to insert into the running turn.
        queued_messages: Messages that will start their own turns, in order.
        meta: Additional data.
        terminals: Ours: terminals that the agent opened, oldest first.
        input_requests: Ours: waiting questions that the agent asked while no turn ran, such as for a login.
        prompt_suggestions: Ours: prompts that the agent expects the user to send next, the most likely first; removed
            when a turn begins.

    Example:
        >>> chat = ChatState(resource="eliza:/1/chat", title="", status=1, modified_at="", turns=())
        >>> chat.active_turn is None
        True
    """

    resource: str
    title: str
    status: int
    activity: str | None = None
    modified_at: str
    model: ModelSelection | None = None
    agent: AgentSelection | None = None
    origin: ChatOrigin | None = None
    interactivity: str | None = None
    working_directories: tuple[str, ...] | None = None
    turns: tuple[Turn, ...]
    active_turn: ActiveTurn | None = None
    steering_message: PendingMessage | None = None
    queued_messages: tuple[PendingMessage, ...] | None = None
    meta: JsonObject | None = msgspec.field(default=None, name="_meta")
    terminals: TerminalSequence | None = None
    input_requests: tuple[ChatInputRequest, ...] | None = None
    prompt_suggestions: tuple[str, ...] | None = None
