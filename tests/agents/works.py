"""Sends the requests of the prompt, a JSON list of `[method, params]`; writes the answers as JSON, one a line.

`$terminal` stands for the last terminal's id, `$terminal-N` for that of request N. `["session/update", UPDATE]` sends
this update, without an answer; after `["session/prompt", {}]` the turn has ended.
"""

import json

import wire


def prompt(request):
    memory, has_ended = {}, False
    for number, (method, wanted) in enumerate(json.loads(request["params"]["prompt"][0]["text"])):
        if method == "session/update":
            wire.send({"method": method, "params": {"sessionId": wire.SESSION, "update": wanted}})
            continue
        if method == "session/prompt":
            wire.answer(request, {"stopReason": "end_turn"})
            has_ended = True
            continue
        params = {name: memory.get(value, value) if isinstance(value, str) else value for name, value in wanted.items()}
        reply = wire.ask(number, method, **params)
        if terminal := (reply.get("result") or {}).get("terminalId"):
            memory["$terminal"] = memory[f"$terminal-{number}"] = terminal
        wire.say(json.dumps(reply.get("result", reply.get("error"))) + "\n")
    if not has_ended:
        wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, sessionCapabilities={"additionalDirectories": {}})
