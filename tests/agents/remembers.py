"""Saves its prompts in the file ``memory.json`` of its folder: ``remembers.py [resume] [load]``.

It can continue a session in the ways named. A prompt ``crash`` ends it, ``recall`` returns all that it knows,
``servers`` its MCP servers.
"""

import json
import sys
from pathlib import Path

import wire

MEMORY = Path("memory.json")
WAYS = sys.argv[1:]
memory = {}
servers = []


def keep():
    MEMORY.write_text(json.dumps(memory), encoding="utf-8")


def prompt(request):
    session, text = request["params"]["sessionId"], request["params"]["prompt"][0]["text"]
    if text == "crash":
        sys.exit(4)
    if text == "servers":
        wire.say(f"given {', '.join(server['name'] for server in servers) or 'none'}", session)
        return wire.answer(request, {"stopReason": "end_turn"})
    known = memory.setdefault(session, [])
    wire.say(f"{session} knows {', '.join(known) or 'nothing'}" if text == "recall" else f"noted {text}", session)
    if text != "recall":
        known.append(text)
        keep()
    return wire.answer(request, {"stopReason": "end_turn"})


def replay(session):
    for text in memory[session]:
        wire.update("user_message_chunk", session, content={"type": "text", "text": text})
        wire.say(f"noted {text}", session)
    wire.update("available_commands_update", session, availableCommands=[{"name": "recall", "description": "all"}])


while True:
    message = wire.receive()
    params = message.get("params") or {}
    servers = params.get("mcpServers", servers)
    memory = json.loads(MEMORY.read_text(encoding="utf-8")) if MEMORY.exists() else {}
    match message.get("method"):
        case "initialize":
            offers = {"loadSession": "load" in WAYS, "sessionCapabilities": {"resume": {}} if "resume" in WAYS else {}}
            wire.answer(message, {"protocolVersion": 1, "agentCapabilities": offers})
        case "session/new":
            memory[name := f"s{len(memory) + 1}"] = []
            keep()
            wire.answer(message, {"sessionId": name})
        case "session/load" | "session/resume" if params["sessionId"] not in memory:
            wire.refuse(message, -32002, "No such session")
        case "session/load":
            replay(params["sessionId"])
            wire.answer(message, {})
        case "session/resume":
            wire.answer(message, {})
        case "session/prompt":
            prompt(message)
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
