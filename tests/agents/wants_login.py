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
    asked = wire.receive()
    match asked.get("method"):
        case "initialize":
            wire.answer(asked, {"protocolVersion": 1, "authMethods": METHODS})
        case "authenticate":
            inside = "never" not in sys.argv
            if "unnoticed" not in sys.argv:
                wire.answer(asked, {})
        case "session/new" if inside or sys.argv[1] != "session":
            wire.answer(asked, {"sessionId": wire.SESSION})
        case "session/prompt" if inside or sys.argv[1] != "prompt":
            wire.say("welcome")
            wire.answer(asked, {"stopReason": "end_turn"})
        case _ if "id" in asked and "method" in asked:
            wire.refuse(asked, -32000, "Authentication required")
