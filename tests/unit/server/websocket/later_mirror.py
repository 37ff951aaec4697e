"""A mirror of version 0.9 and later in Python: plain JSON, reduced as the protocol's documentation says.

It knows what the schedules send: texts, thoughts, input requests, ends of turns, titles and status. It shares no code
with the host, so that it can find errors in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

IDLE, IN_PROGRESS, INPUT_NEEDED, IS_READ = 1, 8, 24, 32


def reduce(channel: str, state: Json, action: Json) -> Json:
    """Returns the channel's state after an action."""
    kind, value = action["type"], dict(state)
    if channel.startswith("ahp-chat:"):
        return CHAT[kind](value, action)
    return OTHERS[kind](value, action)


def _status(chat: Json) -> Json:
    parts = (chat.get("activeTurn") or {}).get("responseParts", [])
    waits = any(part["kind"] == "inputRequest" and "response" not in part for part in parts)
    now = INPUT_NEEDED if waits else IN_PROGRESS if chat.get("activeTurn") else IDLE
    return {**chat, "status": chat["status"] & ~31 | now}


def _unread(chat: Json) -> Json:
    return {**chat, "status": chat["status"] & ~IS_READ}


def _with_parts(chat: Json, change: Callable[[list[Json]], list[Json]]) -> Json:
    turn = chat["activeTurn"]
    return {**chat, "activeTurn": {**turn, "responseParts": change(list(turn["responseParts"]))}}


def _started(chat: Json, action: Json) -> Json:
    turn = {"id": action["turnId"], "startedAt": action["startedAt"], "message": action["message"], "responseParts": []}
    return _unread(_status({**chat, "activeTurn": turn, "modifiedAt": action["startedAt"]}))


def _completed(chat: Json, action: Json) -> Json:
    turn = {**chat.pop("activeTurn"), "duration": action["duration"], "state": "complete"}
    return _status({**chat, "turns": [*chat["turns"], turn]})


def _grown(kind: str) -> Callable[[Json, Json], Json]:
    def grow(chat: Json, action: Json) -> Json:
        def change(parts: list[Json]) -> list[Json]:
            at = next(at for at, part in enumerate(parts) if part.get("id") == action["partId"])
            assert parts[at]["kind"] == kind
            parts[at] = {**parts[at], "content": parts[at]["content"] + action["content"]}
            return parts

        return _with_parts(chat, change)

    return grow


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


def _chat_updated(session: Json, action: Json) -> Json:
    chats = [{**each, **action["changes"]} if each["resource"] == action["chat"] else each for each in session["chats"]]
    return {**session, "chats": chats}


CHAT: dict[str, Callable[[Json, Json], Json]] = {
    "chat/turnStarted": _started,
    "chat/responsePart": lambda chat, action: _with_parts(chat, lambda parts: [*parts, action["part"]]),
    "chat/delta": _grown("markdown"),
    "chat/reasoning": _grown("reasoning"),
    "chat/turnComplete": _completed,
    "chat/inputRequested": _input_requested,
    "chat/inputCompleted": _answered,
}
OTHERS: dict[str, Callable[[Json, Json], Json]] = {
    "session/titleChanged": lambda session, action: {**session, "title": action["title"]},
    "session/chatUpdated": _chat_updated,
}
