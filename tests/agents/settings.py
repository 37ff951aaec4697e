"""Has modes, options and (``settings.py old``) legacy models; refuses the mode `broken`; reports its settings.

``settings.py both`` is like Codex: models in the legacy form, and a config option for them, which alone can be set.
With ``resume`` it resumes sessions, with its default model; with ``fork`` it copies them.
"""

import sys

import wire

OLD, BOTH = "old" in sys.argv, "both" in sys.argv
ABLE = {each: {} for each in ("resume", "fork") if each in sys.argv}
MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}
MODELS = {
    "currentModelId": "m1",
    "availableModels": [{"modelId": "m1", "name": "One"}, {"modelId": "m2", "name": "Two"}],
}
values = {"effort": "low", "brave": False, "model": "m1"}


def options():
    efforts = [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}]
    models = [{"value": each["modelId"], "name": each["name"]} for each in MODELS["availableModels"]]
    model = {"id": "model", "name": "Model", "category": "model", "type": "select", "options": models}
    return [
        *([{**model, "currentValue": values["model"]}] if BOTH else []),
        {"id": "effort", "name": "Effort", "type": "select", "currentValue": values["effort"], "options": efforts},
        {"id": "brave", "name": "Brave", "type": "boolean", "currentValue": values["brave"]},
    ]


while True:
    message = wire.receive()
    params = message.get("params") or {}
    match message.get("method"):
        case "initialize":
            wire.answer(message, {"protocolVersion": 1, "agentCapabilities": {"sessionCapabilities": ABLE}})
        case "session/new" | "session/resume" | "session/fork":
            kept = {} if OLD else {"configOptions": options()}
            kept |= {"models": MODELS} if OLD or BOTH else {}
            session = "copy" if message["method"] == "session/fork" else wire.SESSION
            wire.answer(message, {"sessionId": session, "modes": MODES, **kept})
        case "session/set_mode" if params["modeId"] == "broken":
            wire.refuse(message, -32602, "No such mode")
        case "session/set_model" if BOTH:
            wire.refuse(message, -32601, "Method not found: session/set_model")
        case "session/set_mode" | "session/set_model":
            wire.answer(message, {})
        case "session/set_config_option":
            values[params["configId"]] = params["value"]
            wire.answer(message, {"configOptions": options()})
        case "session/prompt":
            wire.update("available_commands_update", availableCommands=[{"name": "web", "description": "search"}])
            wire.update("session_info_update", title="A name")
            wire.update("usage_update", used=53000, size=200000, cost={"amount": 0.045, "currency": "USD"})
            wire.send({"method": "_vendor/limits", "params": {"left": 3}})
            wire.answer(message, {"stopReason": "end_turn"})
