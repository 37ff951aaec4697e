"""Answers the choice of an option, and in the same write reports another value."""

import json
import sys

import wire


def options(value):
    listed = [{"value": name, "name": name} for name in ("small", "large")]
    return [{"id": "size", "name": "Size", "type": "select", "currentValue": value, "options": listed}]


while True:
    asked = wire.receive()
    match asked.get("method"):
        case "initialize":
            wire.answer(asked, {"protocolVersion": 1})
        case "session/new":
            wire.answer(asked, {"sessionId": wire.SESSION, "configOptions": options("small")})
        case "session/set_config_option":
            update = {"sessionUpdate": "config_option_update", "configOptions": options("small")}
            messages = (
                {"id": asked["id"], "result": {"configOptions": options("large")}},
                {"method": "session/update", "params": {"sessionId": wire.SESSION, "update": update}},
            )
            sys.stdout.write("".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages))
            sys.stdout.flush()
        case _ if "id" in asked and "method" in asked:
            wire.answer(asked, {})
