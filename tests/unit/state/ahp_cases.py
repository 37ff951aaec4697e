"""The reducer cases of AHP 0.5, if checked out, converted to 1.0, the version of agentnb."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agentnb.state.change import iso_time
from agentnb.testing import load_cases

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("AGENTNB_SHARED", ROOT.parent / "shared")) / "cases/ahp/reducers"
GONE = {"session/modelChanged", "session/agentChanged"}
"""Actions removed in 1.0, in which messages name the model and the agent."""
Json = dict[str, Any]


def ahp_cases() -> dict[str, Json]:
    """Returns the cases by name, without those of removed actions; nothing if the folder is missing."""
    cases = load_cases(FOLDER) if FOLDER.is_dir() else {}
    return {
        name: read(case)
        for name, case in cases.items()
        if not any(action["type"] in GONE for action in case["actions"])
    }


def read(case: Json) -> Json:
    """Converts a case to 1.0."""
    for state in (case["initial"], case["expected"]):
        match case["reducer"]:
            case "session":
                _read_session(state)
            case "chat":
                _read_chat(state)
            case "terminal":
                code = state.pop("exitCode", None)
                state["lifecycle"] = {"status": "running"} if code is None else {"status": "exited", "exitCode": code}
            case "root":
                for terminal in state.get("terminals") or ():
                    terminal.setdefault("lifecycle", {"status": "running"})
    for action in case["actions"]:
        _read_action(action)
    return case


def _read_session(session: Json) -> None:
    summary = session.pop("summary")
    folder = summary.pop("workingDirectory", None)
    session |= {name: summary[name] for name in ("provider", "title", "status", "activity") if name in summary}
    if folder is not None:
        session["workingDirectories"] = [folder]
    if session["lifecycle"] == "creationFailed":
        session["lifecycle"] = "failed"


def _read_chat(chat: Json) -> None:
    running = chat.get("activeTurn")
    for turn in [*(chat.get("turns") or ()), *([running] if running else [])]:
        if (error := turn.pop("error", None)) is not None:
            turn["responseParts"].append({"kind": "error", "error": error})
    if running:
        requests = chat.pop("inputRequests", None) or ()
        running["responseParts"] += [{"kind": "inputRequest", "request": request} for request in requests]


def _read_action(action: Json) -> None:
    if isinstance(action.get("startedAt"), int):
        action["startedAt"] = iso_time(action["startedAt"])
    if action["type"] == "chat/error":
        action["part"] = {"kind": "error", "error": action.pop("error")}
    for terminal in action.get("terminals") or ():
        terminal.setdefault("lifecycle", {"status": "running"})


def without_old_questions(value: Any) -> Any:
    """Removes questions that were answered or whose turn has ended, as 0.5 does not keep them."""
    if isinstance(value, list):
        return [without_old_questions(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {name: without_old_questions(item) for name, item in value.items()}
    parts = value.get("responseParts", ())
    old = [part for part in parts if part["kind"] == "inputRequest" and ("response" in part or "state" in value)]
    return {**value, "responseParts": [part for part in parts if part not in old]} if old else value
