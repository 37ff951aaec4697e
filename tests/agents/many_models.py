"""Offers 200 models and writes the chosen one; with ``nothing`` it has no models, no modes and no name."""

import sys

import wire

NAMES = [] if "nothing" in sys.argv else [f"model-{number}" for number in range(200)]
OPTION = {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "model-0"}
OPTION["options"] = [{"value": name, "name": name} for name in NAMES]

while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            info = {"name": "", "title": None, "version": 7} if not NAMES else {"name": "many", "version": "1"}
            wire.answer(message, {"protocolVersion": 1, "agentInfo": info})
        case "session/new" if NAMES:
            wire.answer(message, {"sessionId": wire.SESSION, "configOptions": [OPTION]})
        case "session/new":
            modes = {"currentModeId": "", "availableModes": []}
            wire.answer(message, {"sessionId": wire.SESSION, "modes": modes, "models": None, "configOptions": []})
        case "session/set_config_option":
            OPTION["currentValue"] = message["params"]["value"]
            wire.answer(message, {"configOptions": [OPTION]})
        case "session/prompt":
            wire.say(f"{OPTION['currentValue']}, {len(message['params']['prompt'][0]['text'])} characters")
            wire.answer(message, {"stopReason": "end_turn"})
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
