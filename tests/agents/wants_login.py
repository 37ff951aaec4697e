"""Requires a login: ``wants_login.py session|prompt [never|unnoticed]``, before a new session or before a prompt.

``never``: a login does not help; ``unnoticed``: it does not answer ``authenticate``.
"""

import sys

import wire

METHODS = [
    {"id": "browser", "name": "Browser"},
    {"id": "shell", "name": "Shell", "type": "terminal", "args": ["--login"]},
    {"id": "key", "name": "API key", "type": "env_var", "vars": [{"name": "SCRIPTED_KEY"}]},
]
inside = False

while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            wire.answer(message, {"protocolVersion": 1, "authMethods": METHODS})
        case "authenticate":
            inside = "never" not in sys.argv
            if "unnoticed" not in sys.argv:
                wire.answer(message, {})
        case "session/new" if inside or sys.argv[1] != "session":
            wire.answer(message, {"sessionId": wire.SESSION})
        case "session/prompt" if inside or sys.argv[1] != "prompt":
            wire.say("welcome")
            wire.answer(message, {"stopReason": "end_turn"})
        case _ if "id" in message and "method" in message:
            wire.refuse(message, -32000, "Authentication required")
