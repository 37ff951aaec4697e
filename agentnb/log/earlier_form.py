"""Reads what agentnb 0.2 wrote into a log: its states and actions had the form of AHP 0.5, today's have that of 1.0.

Each difference shows in the value itself, so that a log may hold both, and what is in today's form stays as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from agentnb.state.change import iso_time, milliseconds

if TYPE_CHECKING:
    from agentnb.state import ChatState

Json: TypeAlias = dict[str, Any]

_TURN_ACTION = re.compile(rb'"type":"chat/(?:turn|error)')
_IN_SUMMARY = ("provider", "title", "status", "activity", "project", "annotations")


def state_of(data: bytes) -> Any:
    """The state of a session or a chat, as JSON."""
    state = msgspec.json.decode(data)
    if "summary" in state:
        _read_session(state)
    if "turns" in state:
        _read_chat(state)
    return state


def entry_of(data: bytes, state: Any) -> Any:
    """An envelope; *state* is that of its channel before it."""
    if not _TURN_ACTION.search(data):
        return data
    envelope = msgspec.json.decode(data)
    _read_action(envelope["action"], state)
    return envelope


def _read_session(session: Json) -> None:
    summary = session.pop("summary")
    session |= {name: summary[name] for name in _IN_SUMMARY if name in summary}
    _read_folder(session, summary.get("workingDirectory"))
    if session["lifecycle"] == "creationFailed":
        session["lifecycle"] = "failed"


def _read_chat(chat: Json) -> None:
    _read_folder(chat, chat.pop("workingDirectory", None))
    running = chat.get("activeTurn")
    for turn in [*chat["turns"], *([running] if running else [])]:
        _read_turn(turn)
    if running:
        requests = chat.pop("inputRequests", ())
        running["responseParts"] += [{"kind": "inputRequest", "request": request} for request in requests]


def _read_folder(value: Json, folder: str | None) -> None:
    if folder is not None:
        value["workingDirectories"] = [folder]


def _read_turn(turn: Json) -> None:
    began, ended = turn.get("startedAt"), turn.pop("endedAt", None)
    if isinstance(began, int):
        turn["startedAt"] = iso_time(began)
        if ended is not None:
            turn["duration"] = max(0, ended - began)
    if "error" in turn:
        turn["responseParts"].append({"kind": "error", "error": turn.pop("error")})


def _read_action(action: Json, state: ChatState) -> None:
    if isinstance(action.get("startedAt"), int):
        action["startedAt"] = iso_time(action["startedAt"])
    ended, turn = action.pop("endedAt", None), state.active_turn
    if ended is not None and turn is not None and turn.started_at is not None:
        action["duration"] = max(0, ended - milliseconds(turn.started_at))
    if "error" in action:
        action["part"] = {"kind": "error", "error": action.pop("error")}
