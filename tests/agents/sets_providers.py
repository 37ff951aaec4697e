"""Lets the client set its model provider `main` (ACP `providers/*`); ``sets_providers.py none`` does not offer that.

It answers a prompt with the settings that it got, as JSON; it refuses `bad://` as an address.
"""

import json
import sys

import wire

told = []
while True:
    asked = wire.receive()
    method, params = asked.get("method"), asked.get("params") or {}
    match method:
        case "initialize":
            wire.initialize(asked, **({} if "none" in sys.argv else {"providers": {}}))
        case "providers/list":
            main = {"providerId": "main", "supported": ["anthropic"], "required": False, "current": None}
            wire.answer(asked, {"providers": [main]})
        case "providers/set" if params["baseUrl"].startswith("bad:"):
            wire.refuse(asked, -32602, "That is no address")
        case "providers/set" | "providers/disable":
            told.append([method, params])
            wire.answer(asked, {})
        case "session/new":
            wire.answer(asked, {"sessionId": wire.SESSION})
        case "session/prompt":
            wire.say(json.dumps(told))
            wire.answer(asked, {"stopReason": "end_turn"})
        case _ if "id" in asked and method:
            wire.answer(asked, {})
