"""Works in modes: in ``free``, its first one, it acts at once; in ``careful`` it asks: ``free_modes.py [WORD ...]``.

A prompt ``act`` writes ``out.txt``, ``leave`` switches to free, then acts; any other returns the mode. Words:
``refuses``: it refuses to change its mode; ``none``: it offers no modes; ``option``: the mode is a config option;
``resume``: it can resume a session, in free; ``insists``: it leaves a mode at once that the client sets.
"""

import pathlib
import sys

import wire

WORDS = sys.argv[1:]
state = {"mode": "free", "asking": None}


def modes():
    names = [{"id": each, "name": each.title()} for each in ("free", "careful", "plan")]
    if "none" in WORDS:
        return {}
    if "option" in WORDS:
        choices = [{"value": each["id"], "name": each["name"]} for each in names]
        about = {"id": "how", "name": "How", "category": "mode", "type": "select"}
        return {"configOptions": [{**about, "currentValue": state["mode"], "options": choices}]}
    return {"modes": {"currentModeId": state["mode"], "availableModes": names}}


def change(to):
    state["mode"] = to
    wire.update("current_mode_update", "s", currentModeId=to)


def act(request):
    call = {"toolCallId": "c", "title": "touch out.txt", "kind": "execute", "rawInput": {"command": "touch out.txt"}}
    wire.update("tool_call", "s", status="pending", **call)
    if state["mode"] == "free":
        return done(request)
    state["asking"] = request
    options = [
        {"optionId": "y", "name": "Yes", "kind": "allow_once"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ]
    return wire.send(
        {
            "id": "ask",
            "method": "session/request_permission",
            "params": {"sessionId": "s", "toolCall": call, "options": options},
        }
    )


def done(request):
    pathlib.Path("out.txt").touch()
    wire.update("tool_call_update", "s", toolCallId="c", status="completed")
    wire.say(state["mode"], "s")
    wire.answer(request, {"stopReason": "end_turn"})


def prompt(request):
    text = request["params"]["prompt"][0]["text"]
    if text == "leave":
        change("free")
    if text in ("act", "leave"):
        return act(request)
    wire.say(state["mode"], "s")
    return wire.answer(request, {"stopReason": "end_turn"})


while True:
    message = wire.receive()
    params = message.get("params") or {}
    match message.get("method"):
        case "initialize":
            offers = {"sessionCapabilities": {"resume": {}}} if "resume" in WORDS else {}
            wire.answer(message, {"protocolVersion": 1, "agentCapabilities": offers})
        case "session/new":
            wire.answer(message, {"sessionId": "s", **modes()})
        case "session/resume":
            state["mode"] = "free"
            wire.answer(message, modes())
        case "session/set_mode" | "session/set_config_option" if "refuses" in WORDS:
            wire.refuse(message, -32602, "No")
        case "session/set_mode":
            state["mode"] = params["modeId"]
            wire.answer(message, {})
            if "insists" in WORDS:
                change("free")
        case "session/set_config_option":
            state["mode"] = params["value"]
            wire.answer(message, modes())
        case "session/prompt":
            prompt(message)
        case None if message.get("id") == "ask":
            chosen = (message.get("result") or {}).get("outcome", {}).get("optionId")
            if chosen == "y":
                done(state["asking"])
            else:
                wire.update("tool_call_update", "s", toolCallId="c", status="failed")
                wire.answer(state["asking"], {"stopReason": "end_turn"})
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
