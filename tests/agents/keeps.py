"""Keeps sessions, and reports the requests that it got: ``keeps.py [ABILITY]...``.

It offers the abilities named (``list load resume fork delete logout close http sse directories``), two sessions a page,
and knows ``old-1`` to ``old-5``. It replays a session that it loads or forks. It answers a prompt with every request
so far as JSON, one a line. With ``late`` it opens no session before
the client has given the request up; with ``refuses`` it refuses to open, fork and delete.
"""

import json
import sys

import wire

ABLE = set(sys.argv[1:])
SESSIONS = ("list", "resume", "fork", "delete", "close")
kept = {f"old-{number}": f"Talk {number}" for number in range(1, 6)}
asked_for = []
late = []


def capabilities():
    sessions = {name: {} for name in SESSIONS if name in ABLE}
    if "directories" in ABLE:
        sessions["additionalDirectories"] = {}
    return {
        "loadSession": "load" in ABLE,
        "sessionCapabilities": sessions,
        "mcpCapabilities": {"http": "http" in ABLE, "sse": "sse" in ABLE},
        "auth": {"logout": {}} if "logout" in ABLE else {},
    }


def again(session):
    wire.update("user_message_chunk", session, content={"type": "text", "text": "what was asked"})
    wire.say("what was answered", session)
    wire.update("session_info_update", session, title="As the agent calls it")


def page(params):
    start = int(params.get("cursor") or 0)
    names = list(kept)[start : start + 2]
    rows = [{"sessionId": name, "cwd": params.get("cwd", "/"), "title": kept[name]} for name in names]
    rows[0]["updatedAt"] = "2026-01-02T03:04:05Z"
    more = {"nextCursor": str(start + 2)} if start + 2 < len(kept) else {}
    return {"sessions": [*rows, {"title": "without an id"}], **more}


while True:
    message = wire.receive()
    method, params = message.get("method"), message.get("params") or {}
    asked_for.append({"method": method, "params": params})
    match method:
        case "initialize":
            wire.answer(message, {"protocolVersion": 1, "agentCapabilities": capabilities()})
        case "session/new" if "late" in ABLE and not late:
            late.append(message)
        case "$/cancel_request" if late:
            wire.answer(late[0], {"sessionId": "too-late"})
        case "session/new":
            wire.answer(message, {"sessionId": wire.SESSION})
        case "session/list":
            wire.answer(message, page(params))
        case "session/load" | "session/resume" | "session/fork" | "session/delete" if "refuses" in ABLE:
            wire.refuse(message, -32002, "No such session")
        case "session/load":
            again(params["sessionId"])
            wire.answer(message, {})
        case "session/fork":
            again("forked")
            wire.answer(message, {"sessionId": "forked"})
        case "session/delete":
            del kept[params["sessionId"]]
            wire.answer(message, {})
        case "session/prompt":
            wire.say("\n".join(map(json.dumps, asked_for)), params["sessionId"])
            wire.answer(message, {"stopReason": "end_turn"})
        case _ if "id" in message and method:
            wire.answer(message, {})
