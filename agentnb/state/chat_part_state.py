"""Response parts: the pieces that a turn's answer is made of, in the order they came."""

from __future__ import annotations

from typing import Any, TypeAlias

from agentnb.state.chat_message_state import ChatInputRequest, ChatInputResponseKind
from agentnb.state.chat_tool_state import ToolCallState
from agentnb.state.wire import ErrorInfo, JsonObject, StringOrMarkdown, Wire


class ResponsePart:
    """One piece of a turn's answer (AHP ``ResponsePart``).

    On the wire a part carries its ``kind``. A part of an unknown kind becomes an `UnknownResponsePart`, which keeps and
    returns exactly what was sent, so a newer peer's parts are never lost.
    """

    __slots__ = ()


class UnknownResponsePart(ResponsePart):
    """A part of a kind that this version does not know.

    Args:
        raw: The part as received.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: JsonObject) -> None:
        self.raw: JsonObject = raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownResponsePart) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw.get("kind"))

    def __repr__(self) -> str:
        return f"UnknownResponsePart({self.raw!r})"


class MarkdownResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="markdown"):
    """Text of the answer, in Markdown; ``chat/delta`` adds to it (AHP ``MarkdownResponsePart``).

    Args:
        id: The part's id.
        content: The text so far.
        message_id: Ours: the agent's id of the message (ACP ``messageId``); text with another id goes to another part.
    """

    id: str
    content: str
    message_id: str | None = None


class ReasoningResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="reasoning"):
    """The reasoning of the model; ``chat/reasoning`` adds to it (AHP ``ReasoningResponsePart``).

    Args:
        id: The part's id.
        content: The text so far.
        message_id: Ours: the agent's id of the message (ACP ``messageId``); text with another id goes to another part.
    """

    id: str
    content: str
    message_id: str | None = None


class ToolCallResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="toolCall"):
    """A tool call (AHP ``ToolCallResponsePart``). Its part id is the tool call's id."""

    tool_call: ToolCallState


class SystemNotificationResponsePart(
    Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="systemNotification"
):
    """A word from the system (AHP ``SystemNotificationResponsePart``)."""

    content: StringOrMarkdown


class ContentRefResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="contentRef"):
    """Large content that is stored elsewhere (AHP ``ResourceReponsePart``, kind ``contentRef``).

    Args:
        uri: Its address.
        size_hint: Its approximate size in bytes.
        content_type: Its MIME type.
    """

    uri: str
    size_hint: int | None = None
    content_type: str | None = None


class InputRequestResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="inputRequest"):
    """A question from the agent, at its place in the answer (AHP ``InputRequestResponsePart``).

    Args:
        request: The question, with the answers so far.
        response: The kind of answer; ``None`` while the question waits.
    """

    request: ChatInputRequest
    response: ChatInputResponseKind | None = None


class ErrorResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="error"):
    """What went wrong (AHP ``ErrorResponsePart``)."""

    error: ErrorInfo


class PlanEntry(Wire, frozen=True, kw_only=True):
    """One step of a plan (ACP ``PlanEntry``).

    Args:
        content: The task.
        priority: ``"high"``, ``"medium"`` or ``"low"``, as sent.
        status: ``"pending"``, ``"in_progress"`` or ``"completed"``, as sent.
    """

    content: str
    priority: str | None = None
    status: str


class PlanResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="x-agentnb/plan"):
    """Ours: the agent's plan (ACP ``plan``).

    Args:
        id: The part's id.
        plan_id: The agent's own id, if it has several plans.
        entries: All steps; a new plan replaces the old one as a whole.
    """

    id: str
    plan_id: str | None = None
    entries: tuple[PlanEntry, ...]


class ContentResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="x-agentnb/content"):
    """Ours: a block of the agent's message that is not text: image, audio, resource, resource_link, as sent."""

    id: str
    block: JsonObject


class UserMessageResponsePart(
    Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="x-agentnb/userMessage"
):
    """Ours: the user's words as the agent repeats them (ACP ``user_message_chunk``)."""

    id: str
    content: str


class RawResponsePart(Wire, ResponsePart, frozen=True, kw_only=True, tag_field="kind", tag="x-agentnb/raw"):
    """Ours: an update of an unknown kind, shown generically.

    Args:
        id: The part's id.
        name: The update's name, as sent.
        payload: The update, as sent.
    """

    id: str
    name: str
    payload: Any


KnownResponsePart: TypeAlias = (
    MarkdownResponsePart
    | ReasoningResponsePart
    | ToolCallResponsePart
    | SystemNotificationResponsePart
    | ContentRefResponsePart
    | InputRequestResponsePart
    | ErrorResponsePart
    | PlanResponsePart
    | ContentResponsePart
    | UserMessageResponsePart
    | RawResponsePart
)
"""The parts that this version knows."""
