"""The mapper: turns an agent's messages into actions.

It is pure, and malformed input never raises.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping, objects, text
from agentnb.acp.tool_calls import (
    agent_terminal,
    as_call,
    compaction_id,
    details_of,
    known,
    merged,
    terminal_actions,
    tool_call_actions,
    tool_input,
    tool_name,
    with_content,
)
from agentnb.acp.updates import UPDATES, UpdateTarget, find, of_call, own
from agentnb.state import (
    ChatDelta,
    ChatReasoning,
    ChatResponsePart,
    ChatToolCallReady,
    ConfirmationOption,
    ContentResponsePart,
    MarkdownResponsePart,
    PlanEntry,
    PlanResponsePart,
    RawResponsePart,
    ReasoningResponsePart,
    SystemNotificationResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    UserMessageResponsePart,
    XPartRemoved,
    XPlanSet,
    XUserMessageDelta,
    reduce_chat,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.state import Action, ChatState

_TEXTS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})
"""The updates whose text can be joined."""
_SEVERITIES = {"warning": "Warning: ", "error": "Error: "}
"""The prefix of a notice, by its severity."""
_READING = frozenset({"read", "search"})
"""The kinds of calls that change nothing."""

_OF_TURN: dict[str, Callable[[dict[str, Any], ChatState, UpdateTarget], tuple[Action, ...] | None]] = {
    "agent_message_chunk": lambda update, _, place: _message_chunk(update, place, MarkdownResponsePart, ChatDelta),
    "agent_thought_chunk": lambda update, _, place: _message_chunk(update, place, ReasoningResponsePart, ChatReasoning),
    "user_message_chunk": lambda update, chat, place: _repeated(update, place, chat),
    "tool_call": lambda update, chat, place: _tool_call(update, chat, place, anew=True),
    "tool_call_update": lambda update, chat, place: _tool_call(update, chat, place, anew=False),
    "plan": lambda update, _, place: _plan(update, None, place),
    "plan_update": lambda update, _, place: _plan_update(mapping(update.get("plan")), place),
    "plan_removed": lambda update, _, place: _plan_removed(update, place),
    "notice": lambda update, _, place: _notice(update, place),
    "compaction_update": lambda update, chat, place: _compaction(update, place, chat),
    "tool_call_content_chunk": lambda update, chat, place: _call_content(update, place, chat),
    "terminal_update": lambda update, chat, place: agent_terminal(update, chat, place.time),
    "terminal_output_chunk": lambda update, chat, place: agent_terminal(update, chat, place.time),
    "compaction_summary_chunk": lambda update, chat, place: _compaction(update, place, chat),
}
"""The updates that belong to a turn, and the function that reads each."""

HISTORY = frozenset(_OF_TURN) - {"notice"} | {"prompt_suggestions_update"}
"""The kinds of update that a replayed conversation consists of; the others describe the session's current state. An
agent's suggestions in an old conversation are outdated, so they belong here."""


def map_update(update: dict[str, Any], chat: ChatState, turn_id: str | None, time: int) -> tuple[Action, ...]:
    """The actions for one ACP ``session/update``."""
    name = text(update.get("sessionUpdate")) or "update"
    if name in UPDATES and (actions := UPDATES[name](update, time)) is not None:
        return actions
    place = find(chat, turn_id, time)
    actions = _OF_TURN[name](update, chat, place) if name in _OF_TURN else None
    if actions is not None:
        return actions
    return _part(place, RawResponsePart(id=place.parts.free_id(), name=name, payload=update))


def keep_raw(name: str, payload: Any, chat: ChatState, time: int) -> tuple[Action, ...]:
    """The actions that keep *payload*, which could not be parsed, as a part of the running turn."""
    place = find(chat, None, time)
    return _part(place, RawResponsePart(id=place.parts.free_id(), name=name, payload=payload))


def map_permission(
    params: dict[str, Any], chat: ChatState, turn_id: str | None, time: int
) -> tuple[str, tuple[Action, ...]]:
    """The actions for ACP ``session/request_permission``.

    The request may name a tool call that was never announced, or carry only its id; both are merged with the known
    data. If the call has already ended, the request gets a new one.
    """
    tool_call = mapping(params.get("toolCall"))
    place = find(chat, turn_id, time)
    call_id = text(tool_call.get("toolCallId")) or f"permission-{len(place.parts) + 1}"
    call = place.parts.tool_call(call_id)
    if isinstance(call, (ToolCallCompletedState, ToolCallCancelledState)):
        call_id, call = f"{call_id}~{len(place.parts) + 1}", None
    known_kind = call.details.kind if call is not None and call.details is not None else None
    if known_kind in _READING and tool_call.get("kind") == "other":
        # OpenCode sends this kind when its tool reads outside the workspace
        tool_call = {**tool_call, "kind": known_kind}
    call_details = details_of(tool_call)
    details = merged(call, call_details)
    title = text(tool_call.get("title")) or (call.display_name if call is not None else tool_name(tool_call))
    ready = ChatToolCallReady(
        turn_id=place.turn_id,
        tool_call_id=call_id,
        invocation_message=title,
        confirmation_title=title,
        tool_input=tool_input(details),
        options=tuple(_option(each) for each in objects(params.get("options")) if text(each.get("optionId"))),
        time=time,
    )
    return call_id, place.act(*known(tool_call, call_id, call, place, call_details), ready)


def permission_outcome(option_id: str | None) -> dict[str, Any]:
    """ACP ``RequestPermissionResponse``: the option chosen, or None for a turn that was cancelled."""
    if option_id is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


def _option(option: dict[str, Any]) -> ConfirmationOption:
    option_id, kind = str(option["optionId"]), text(option.get("kind"))
    approves = kind is None or kind.startswith("allow")
    return ConfirmationOption(
        id=option_id,
        label=text(option.get("name")) or option_id,
        kind="approve" if approves else "deny",
        option_kind=kind,
    )


def _message_chunk(
    update: dict[str, Any],
    place: UpdateTarget,
    part_type: type[MarkdownResponsePart | ReasoningResponsePart],
    delta_type: type[ChatDelta | ChatReasoning],
) -> tuple[Action, ...] | None:
    """The actions for text or another block of the agent's message; None if there is no block."""
    match update.get("content"):
        case {"type": "text", "text": str(words)}:
            message, last = text(update.get("messageId")), place.last
            if not words:
                return ()
            if isinstance(last, part_type) and last.message_id == message:
                return place.act(delta_type(turn_id=place.turn_id, part_id=last.id, content=words, time=place.time))
            return _part(place, part_type(id=place.parts.free_id(), content=words, message_id=message))
        case {"type": str(kind)} if kind != "text":
            return _block(update, place)
        case _:
            return None


def _repeated(update: dict[str, Any], place: UpdateTarget, chat: ChatState) -> tuple[Action, ...] | None:
    """The actions for a user message: an echo of the prompt, a replayed conversation, or text from someone else."""
    match update.get("content"):
        case {"type": "text", "text": str(words)}:
            return () if not words or _echoes(words, place) else _words(words, chat, place)
        case {"type": str(kind)} if kind != "text":
            if place.message.attachments and not place.parts:
                return ()  # the agent echoes the prompt's attachments
            return _block(update, place)
        case _:
            return None


def _words(words: str, chat: ChatState, place: UpdateTarget) -> tuple[Action, ...]:
    last = place.last
    if isinstance(last, UserMessageResponsePart):
        delta = XUserMessageDelta(turn_id=place.turn_id, part_id=last.id, content=words, time=place.time)
        return place.act(delta)
    if place.late and chat.active_turn is None:  # replayed from an old conversation: its next turn begins
        return own(chat, place.time, words).opening
    return _part(place, UserMessageResponsePart(id=place.parts.free_id(), content=words))


def _echoes(words: str, place: UpdateTarget) -> bool:
    """True if *words* only repeat the prompt, whole or (before the answer begins) piece by piece."""
    prompt = place.message.text
    if place.late and place.parts:
        return False  # replayed from an old conversation: the user repeated the text
    return words.strip() == prompt.strip() or (not place.parts and words in prompt)


def _tool_call(
    update: dict[str, Any], chat: ChatState, place: UpdateTarget, *, anew: bool
) -> tuple[Action, ...] | None:
    call_id = text(update.get("toolCallId"))
    if call_id is None:
        return None
    call = place.parts.tool_call(call_id)
    if call is None and not anew:
        place, call = of_call(chat, place, call_id)
    printed = terminal_actions(update, chat, place.time)
    has_ended = update.get("status") in {"completed", "failed"}
    terminals = (reduce(reduce_chat, printed, chat).terminals if has_ended else None) or ()
    return (*place.act(*tool_call_actions(update, call_id, call, place, terminals)), *printed)


def _call_content(update: dict[str, Any], place: UpdateTarget, chat: ChatState) -> tuple[Action, ...] | None:
    """The actions for one more piece of a tool call's content (version 2 of ACP)."""
    call = of_call(chat, place, text(update.get("toolCallId")) or "")[1]
    whole = {**update, "sessionUpdate": "tool_call_update", "content": with_content(call, update.get("content"))}
    return _tool_call(whole, chat, place, anew=False)


def _compaction(update: dict[str, Any], place: UpdateTarget, chat: ChatState) -> tuple[Action, ...] | None:
    call_id = compaction_id(update)
    if call_id is None:
        return None
    place, call = of_call(chat, place, call_id)
    return place.act(*tool_call_actions(as_call(update, call), call_id, call, place))


def _notice(update: dict[str, Any], place: UpdateTarget) -> tuple[Action, ...] | None:
    """ACP ``notice``, as plain text; a notice that repeats the previous one is not shown again."""
    title, detail = text(update.get("title")), text(update.get("description"))
    if not title:
        return None
    words = "\n".join(filter(None, (_SEVERITIES.get(str(update.get("severity")), "") + title, detail)))
    part = SystemNotificationResponsePart(content=words)
    return () if place.last == part else _part(place, part)


def _plan(plan: dict[str, Any], plan_id: str | None, place: UpdateTarget) -> tuple[Action, ...] | None:
    listed = plan.get("entries")
    if not isinstance(listed, list):
        return None
    there = _plan_part(place, plan_id)
    part_id = there.id if there is not None else place.parts.free_id()
    entries = tuple(_entry(each) for each in objects(listed))
    plan_set = XPlanSet(turn_id=place.turn_id, part_id=part_id, plan_id=plan_id, entries=entries, time=place.time)
    return place.act(plan_set)


def _plan_update(plan: dict[str, Any], place: UpdateTarget) -> tuple[Action, ...] | None:
    return _plan(plan, text(plan.get("planId")), place)


def _entry(entry: dict[str, Any]) -> PlanEntry:
    return PlanEntry(
        content=text(entry.get("content")) or "",
        priority=text(entry.get("priority")),
        status=text(entry.get("status")) or "pending",
    )


def _plan_part(place: UpdateTarget, plan_id: str | None) -> PlanResponsePart | None:
    at = place.parts.find_plan(plan_id)
    part = place.parts[at] if at >= 0 else None
    return part if isinstance(part, PlanResponsePart) else None


def _plan_removed(update: dict[str, Any], place: UpdateTarget) -> tuple[Action, ...]:
    there = _plan_part(place, text(update.get("planId")))
    if there is None:
        return ()
    return place.act(XPartRemoved(turn_id=place.turn_id, part_id=there.id, time=place.time))


def _block(update: dict[str, Any], place: UpdateTarget) -> tuple[Action, ...]:
    return _part(place, ContentResponsePart(id=place.parts.free_id(), block=update["content"]))


def _part(place: UpdateTarget, part: Any) -> tuple[Action, ...]:
    return place.act(ChatResponsePart(turn_id=place.turn_id, part=part, time=place.time))


def merge(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbours that are plain text of the same message; leave everything else as it is."""
    if len(updates) == 1:
        return updates
    merged: list[dict[str, Any]] = []
    texts: list[str] = []
    key: tuple[Any, Any] | None = None
    for update in updates:
        this = _mergeable(update)
        if this is not None and this == key:
            texts.append(update["content"]["text"])
            continue
        _join(merged, texts)
        merged.append(update)
        key = this
        texts = [] if this is None else [update["content"]["text"]]
    _join(merged, texts)
    return merged


def _join(merged: list[dict[str, Any]], texts: list[str]) -> None:
    if len(texts) > 1:
        merged[-1] = {**merged[-1], "content": {"type": "text", "text": "".join(texts)}}


def _mergeable(update: dict[str, Any]) -> tuple[Any, Any] | None:
    """Returns the key that two updates must share to be merged; None if an update stands alone."""
    content = update.get("content")
    message = update.get("messageId")
    if (
        update.get("sessionUpdate") in _TEXTS
        and type(content) is dict
        and len(content) == 2  # noqa: PLR2004 - type and text, nothing more
        and content.get("type") == "text"
        and type(content.get("text")) is str
        and len(update) == (2 if message is None and "messageId" not in update else 3)
        and (message is None or type(message) is str)
    ):
        return update["sessionUpdate"], message
    return None


def begun_call(
    chat: ChatState, turn_id: str, call_id: str, name: str, *, title: str, kind: str, arguments: Any, time: int
) -> tuple[Action, ...]:
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": title,
        "name": name,
        "kind": kind,
        "status": "pending",
        "rawInput": arguments if isinstance(arguments, dict) else {},
    }
    return map_update(update, chat, turn_id, time)


def ended_call(chat: ChatState, turn_id: str, call_id: str, result: dict[str, Any], time: int) -> tuple[Action, ...]:
    update = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id,
        "status": "failed" if result["isError"] else "completed",
        "content": [{"type": "content", "content": block} for block in result["content"]],
    }
    return map_update(update, chat, turn_id, time)
