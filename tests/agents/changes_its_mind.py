"""Answers the choice of an option, and in the same write reports another value."""

import json
import sys

import wire


def options(value):
    listed = [{"value": name, "name": name} for name in ("small", "large")]
    return [{"id": "size", "name": "Size", "type": "select", "currentValue": value, "options": listed}]


while True:
    message = wire.receive()
    match message.get("method"):
        case "initialize":
            wire.answer(message, {"protocolVersion": 1})
        case "session/new":
            wire.answer(message, {"sessionId": wire.SESSION, "configOptions": options("small")})
        case "session/set_config_option":
            update = {"sessionUpdate": "config_option_update", "configOptions": options("small")}
            messages = (
                {"id": message["id"], "result": {"configOptions": options("large")}},
                {"method": "session/update", "params": {"sessionId": wire.SESSION, "update": update}},
            )
            sys.stdout.write("".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages))
            sys.stdout.flush()
        case _ if "id" in message and "method" in message:
            wire.answer(message, {})
