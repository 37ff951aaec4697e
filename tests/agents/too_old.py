"""Is a version without ACP: starts with no argument but ``--version``, which it prints.

``too_old.py speaks`` still speaks ACP, and reports version 0.9.1. ``mute`` prints no version either.
"""

import sys

import wire

if "speaks" in sys.argv:
    while True:
        message = wire.receive()
        match message.get("method"):
            case "initialize":
                info = {"name": "old", "version": "0.9.1"}
                wire.answer(message, {"protocolVersion": 1, "agentInfo": info})
            case _ if "id" in message:
                wire.answer(message, {"sessionId": wire.SESSION})
if "--version" in sys.argv and "mute" not in sys.argv:
    print("scripted agent v0.9.1 (2026-01-02)")
    sys.exit(0)
print(f"error: unknown option {sys.argv[-1]}", file=sys.stderr)
sys.exit(2)
