"""A mirror of version 0.9 and later in Python: plain JSON, reduced as the protocol's documentation says.

It knows the actions that this host sends. It shares no code with the host, so that it can find errors in it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

Json = dict[str, Any]

IDLE, ERROR, IN_PROGRESS, INPUT_NEEDED, IS_READ = 1, 2, 8, 24, 32
ENDED = {"completed", "cancelled"}
BASE = ("toolCallId", "toolName", "displayName", "intention", "contributor", "_meta")


def reduce(channel: str, state: Json, action: Json) -> Json:
    """Returns the channel's state after an action."""
    kind, value = action["type"], dict(state)
    if channel.startswith("ahp-chat:"):
        return CHAT[kind](value, action)
    return OTHERS[kind](value, action)


def _status(chat: Json, forced: int | None = None) -> Json:
    parts = (chat.get("activeTurn") or {}).get("responseParts", [])
    asks = any(part["kind"] == "inputRequest" and "response" not in part for part in parts)
    waits = any(part["kind"] == "toolCall" and part["toolCall"]["status"].startswith("pending-") for part in parts)
    now = forced or (INPUT_NEEDED if asks or waits else IN_PROGRESS if chat.get("activeTurn") else IDLE)
    return {**chat, "status": chat["status"] & ~31 | now}


def _unread(chat: Json) -> Json:
    return {**chat, "status": chat["status"] & ~IS_READ}


def _with_parts(chat: Json, change: Callable[[list[Json]], list[Json]]) -> Json:
    turn = chat["activeTurn"]
    return {**chat, "activeTurn": {**turn, "responseParts": change(list(turn["responseParts"]))}}


def _started(chat: Json, action: Json) -> Json:
    turn = {"id": action["turnId"], "startedAt": action["startedAt"], "message": action["message"], "responseParts": []}
    waiting = [each for each in chat.pop("queuedMessages", []) if each["id"] != action.get("queuedMessageId")]
    queue = {"queuedMessages": waiting} if waiting else {}
    return _unread(_status({**chat, **queue, "activeTurn": turn, "modifiedAt": action["startedAt"]}))


def _ended(state: str, forced: int | None = None) -> Callable[[Json, Json], Json]:
    def end(chat: Json, action: Json) -> Json:
        turn = chat.pop("activeTurn")
        parts = [_skipped(part) for part in turn["responseParts"]] + ([action["part"]] if "part" in action else [])
        turn = {**turn, "duration": action["duration"], "responseParts": parts, "state": state}
        return _status({**chat, "turns": [*chat["turns"], turn]}, forced)

    return end


def _skipped(part: Json) -> Json:
    if part["kind"] != "toolCall" or part["toolCall"]["status"] in ENDED:
        return part
    call = part["toolCall"]
    kept = {name: call[name] for name in (*BASE, "invocationMessage", "toolInput") if name in call}
    return {
        "kind": "toolCall",
        "toolCall": {"invocationMessage": "", **kept, "status": "cancelled", "reason": "skipped"},
    }


def _grown(kind: str) -> Callable[[Json, Json], Json]:
    def grow(chat: Json, action: Json) -> Json:
        def change(parts: list[Json]) -> list[Json]:
            at = next(at for at, part in enumerate(parts) if part.get("id") == action["partId"])
            assert parts[at]["kind"] == kind
            parts[at] = {**parts[at], "content": parts[at]["content"] + action["content"]}
            return parts

        return _with_parts(chat, change)

    return grow


def _call(change: Callable[[Json, Json], Json]) -> Callable[[Json, Json], Json]:
    def changed(chat: Json, action: Json) -> Json:
        def parts(parts: list[Json]) -> list[Json]:
            for at, part in enumerate(parts):
                if part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == action["toolCallId"]:
                    parts[at] = {"kind": "toolCall", "toolCall": change(part["toolCall"], action)}
            return parts

        return _status(_with_parts(chat, parts))

    return changed


def _call_started(chat: Json, action: Json) -> Json:
    call = {name: action[name] for name in BASE if name in action} | {"status": "streaming"}
    return _with_parts(chat, lambda parts: [*parts, {"kind": "toolCall", "toolCall": call}])


def _named(value: Json, *names: str) -> Json:
    return {name: value[name] for name in names if name in value}


def _kept(call: Json, *more: str) -> Json:
    return _named(call, *BASE, *more)


def _ready(call: Json, action: Json) -> Json:
    invocation = _named(action, "invocationMessage", "toolInput")
    if "confirmed" in action:
        return {**_kept(call), **invocation, "status": "running", "confirmed": action["confirmed"]}
    confirmation = _named(action, "confirmationTitle", "edits", "editable", "options")
    return {**_kept(call), **invocation, **confirmation, "status": "pending-confirmation"}


def _confirmed(call: Json, action: Json) -> Json:
    kept = _kept(call, "invocationMessage", "toolInput")
    chosen = [option for option in call.get("options", []) if option["id"] == action.get("selectedOptionId")]
    kept |= {"selectedOption": chosen[0]} if chosen else {}
    if action["approved"]:
        return {**kept, "status": "running", "confirmed": action["confirmed"]}
    return {**kept, "status": "cancelled", "reason": action["reason"]}


def _completed(call: Json, action: Json) -> Json:
    kept = _kept(call, "invocationMessage", "toolInput", "selectedOption")
    return {**kept, "confirmed": call.get("confirmed", "not-needed"), **action["result"], "status": "completed"}


def _input_requested(chat: Json, action: Json) -> Json:
    part = {"kind": "inputRequest", "request": action["request"]}
    return _unread(_status(_with_parts(chat, lambda parts: [*parts, part])))


def _answered(chat: Json, action: Json) -> Json:
    def change(parts: list[Json]) -> list[Json]:
        for at, part in enumerate(parts):
            is_it = part["kind"] == "inputRequest" and part["request"]["id"] == action["requestId"]
            if is_it and "response" not in part:
                request = dict(part["request"])
                answers = {**request.pop("answers", {}), **action.get("answers", {})}
                request |= {"answers": answers} if answers else {}
                parts[at] = {"kind": "inputRequest", "request": request, "response": action["response"]}
        return parts

    return _status(_with_parts(chat, change))


def _pending_set(chat: Json, action: Json) -> Json:
    entry = {"id": action["id"], "message": action["message"]}
    if action["kind"] == "steering":
        return {**chat, "steeringMessage": entry}
    return {**chat, "queuedMessages": [*chat.get("queuedMessages", []), entry]}


def _pending_removed(chat: Json, action: Json) -> Json:
    rest = [each for each in chat.pop("queuedMessages", []) if each["id"] != action["id"]]
    return {**chat, **({"queuedMessages": rest} if rest else {})}


def _loaded(chat: Json, action: Json) -> Json:
    chat.pop("turnsNextCursor", None)
    cursor = {"turnsNextCursor": action["turnsNextCursor"]} if "turnsNextCursor" in action else {}
    return {**chat, "turns": [*action["turns"], *chat["turns"]], **cursor}


def _chat_updated(session: Json, action: Json) -> Json:
    chats = [{**each, **action["changes"]} if each["resource"] == action["chat"] else each for each in session["chats"]]
    return {**session, "chats": chats}


def _set(*names: str) -> Callable[[Json, Json], Json]:
    return lambda state, action: {**state, **{name: action[name] for name in names if name in action}}


CHAT: dict[str, Callable[[Json, Json], Json]] = {
    "chat/turnStarted": _started,
    "chat/responsePart": lambda chat, action: _with_parts(chat, lambda parts: [*parts, action["part"]]),
    "chat/delta": _grown("markdown"),
    "chat/reasoning": _grown("reasoning"),
    "chat/turnComplete": _ended("complete"),
    "chat/turnCancelled": _ended("cancelled"),
    "chat/error": _ended("error", ERROR),
    "chat/usage": lambda chat, action: {**chat, "activeTurn": {**chat["activeTurn"], "usage": action["usage"]}},
    "chat/toolCallStart": _call_started,
    "chat/toolCallReady": _call(_ready),
    "chat/toolCallConfirmed": _call(_confirmed),
    "chat/toolCallComplete": _call(_completed),
    "chat/toolCallContentChanged": _call(lambda call, action: {**call, "content": action["content"]}),
    "chat/inputRequested": _input_requested,
    "chat/inputCompleted": _answered,
    "chat/pendingMessageSet": _pending_set,
    "chat/pendingMessageRemoved": _pending_removed,
    "chat/turnsLoaded": _loaded,
}
OTHERS: dict[str, Callable[[Json, Json], Json]] = {
    "session/ready": lambda session, _: {**session, "lifecycle": "ready"},
    "session/titleChanged": _set("title"),
    "session/activityChanged": _set("activity"),
    "session/isReadChanged": lambda session, action: {
        **session,
        "status": session["status"] & ~IS_READ | (IS_READ if action["isRead"] else 0),
    },
    "session/customizationsChanged": _set("customizations"),
    "session/changesetsChanged": _set("changesets"),
    "session/chatUpdated": _chat_updated,
    "session/metaChanged": _set("_meta"),
    "root/agentsChanged": _set("agents"),
    "root/terminalsChanged": _set("terminals"),
    "root/activeSessionsChanged": _set("activeSessions"),
    "terminal/data": lambda terminal, action: {
        **terminal,
        "content": [
            {"type": "unclassified", "value": "".join(p["value"] for p in terminal["content"]) + action["data"]}
        ],
    },
    "terminal/exited": lambda terminal, action: {
        **terminal,
        "lifecycle": {"status": "exited", **{name: action[name] for name in ("exitCode",) if name in action}},
    },
}


def is_time(text: str) -> bool:
    """True if it is a time as JavaScript writes it."""
    return text.endswith("Z") and datetime.fromisoformat(text.replace("Z", "+00:00")).year >= 1970
