"""Offers 200 models and writes the chosen one; with ``nothing`` it has no models, no modes and no name."""

import sys

import wire

NAMES = [] if "nothing" in sys.argv else [f"model-{number}" for number in range(200)]
OPTION = {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "model-0"}
OPTION["options"] = [{"value": name, "name": name} for name in NAMES]

while True:
    asked = wire.receive()
    match asked.get("method"):
        case "initialize":
            info = {"name": "", "title": None, "version": 7} if not NAMES else {"name": "many", "version": "1"}
            wire.answer(asked, {"protocolVersion": 1, "agentInfo": info})
        case "session/new" if NAMES:
            wire.answer(asked, {"sessionId": wire.SESSION, "configOptions": [OPTION]})
        case "session/new":
            modes = {"currentModeId": "", "availableModes": []}
            wire.answer(asked, {"sessionId": wire.SESSION, "modes": modes, "models": None, "configOptions": []})
        case "session/set_config_option":
            OPTION["currentValue"] = asked["params"]["value"]
            wire.answer(asked, {"configOptions": [OPTION]})
        case "session/prompt":
            wire.say(f"{OPTION['currentValue']}, {len(asked['params']['prompt'][0]['text'])} characters")
            wire.answer(asked, {"stopReason": "end_turn"})
        case _ if "id" in asked and "method" in asked:
            wire.answer(asked, {})
