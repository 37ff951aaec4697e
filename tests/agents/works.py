"""Sends the requests of the prompt, a JSON list of `[method, params]`; writes the answers as JSON, one a line."""

import json

import wire


def prompt(request):
    memory = {}
    for number, (method, wanted) in enumerate(json.loads(request["params"]["prompt"][0]["text"])):
        params = {name: memory.get(value, value) if isinstance(value, str) else value for name, value in wanted.items()}
        reply = wire.ask(number, method, **params)
        memory["$terminal"] = (reply.get("result") or {}).get("terminalId", memory.get("$terminal"))
        wire.say(json.dumps(reply.get("result", reply.get("error"))) + "\n")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, sessionCapabilities={"additionalDirectories": {}})
