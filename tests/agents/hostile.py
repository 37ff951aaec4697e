"""Writes every attack of the cases into every field of an agent; `ask` asks permission with one of them."""

import json
import pathlib

import wire

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "cases" / "attacks"
LONG = 4000


def attacks():
    for path in sorted(FOLDER.glob("*.json")):
        for one in json.loads(path.read_text(encoding="utf-8"))["messages"]:
            text = (one["text"] * one.get("times", 1))[:LONG]
            yield text.encode("utf-8", "replace").decode("utf-8")  # UTF-8 cannot encode a lone surrogate


def words(text):
    return {"type": "content", "content": {"type": "text", "text": text}}


def attack(number, text):
    wire.say(f"{text}\n\n")
    wire.update("agent_thought_chunk", content={"type": "text", "text": text})
    call = f"call-{number}"
    fields = {"title": text, "kind": "execute" if number % 2 else "edit", "locations": [{"path": text or "x"}]}
    wire.update("tool_call", toolCallId=call, status="in_progress", rawInput={"command": text}, **fields)
    content = [words(text), {"type": "diff", "path": text or "x", "oldText": "a\n", "newText": f"{text}\n"}]
    wire.update("tool_call_update", toolCallId=call, status="failed" if number % 3 else "completed", content=content)
    link = {"type": "resource_link", "name": text, "uri": text, "title": text, "description": text}
    wire.update("agent_message_chunk", content=link)
    wire.update("agent_message_chunk", content={"type": "image", "mimeType": "image/svg+xml", "data": text})
    wire.update("plan", entries=[{"content": text, "status": "pending", "priority": "high"}])
    wire.update(f"future_{number}", value=text)


def prompt(request):
    words = request["params"]["prompt"][0]["text"]
    everything = list(attacks())
    if words == "ask":
        text = "<img src=x onerror=window.pwned=1> \u202egpj"
        options = [{"optionId": "a", "name": f"Yes {text}", "kind": "allow_once"}]
        call = {"toolCallId": "asked", "title": text, "kind": "execute", "rawInput": {"command": text}}
        wire.ask(1, "session/request_permission", toolCall=call, options=options)
        wire.answer(request, {"stopReason": "end_turn"})
        return
    commands = [{"name": text or "x", "description": text} for text in everything[:40]]
    wire.update("available_commands_update", availableCommands=commands)
    wire.update("session_info_update", title=everything[0])
    start, end = map(int, words.split())
    for number, text in enumerate(everything[start:end], start):
        attack(number, text)
    if end >= len(everything):
        wire.refuse(request, -32000, everything[0], {"details": everything[1]})
    else:
        wire.answer(request, {"stopReason": everything[0]})


wire.run(prompt)
