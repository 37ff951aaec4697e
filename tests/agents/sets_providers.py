"""Lets the client set its model provider `main` (ACP `providers/*`); ``sets_providers.py none`` does not offer that.

It answers a prompt with the settings that it got, as JSON; it refuses `bad://` as an address.
"""

import json
import sys

import wire

requests = []
while True:
    message = wire.receive()
    method, params = message.get("method"), message.get("params") or {}
    match method:
        case "initialize":
            wire.initialize(message, **({} if "none" in sys.argv else {"providers": {}}))
        case "providers/list":
            main = {"providerId": "main", "supported": ["anthropic"], "required": False, "current": None}
            wire.answer(message, {"providers": [main]})
        case "providers/set" if params["baseUrl"].startswith("bad:"):
            wire.refuse(message, -32602, "That is no address")
        case "providers/set" | "providers/disable":
            requests.append([method, params])
            wire.answer(message, {})
        case "session/new":
            wire.answer(message, {"sessionId": wire.SESSION})
        case "session/prompt":
            wire.say(json.dumps(requests))
            wire.answer(message, {"stopReason": "end_turn"})
        case _ if "id" in message and method:
            wire.answer(message, {})
