"""Sends all requests of the prompt at once, a JSON list of `[method, params]`; writes the answers in its order."""

import json

import wire


def prompt(request):
    wanted = json.loads(request["params"]["prompt"][0]["text"])
    for number, (method, params) in enumerate(wanted):
        wire.send({"id": number, "method": method, "params": {"sessionId": wire.SESSION, **params}})
    replies = {}
    while len(replies) < len(wanted):
        reply = wire.receive()
        if "method" not in reply:  # skips session/cancel
            replies[reply["id"]] = reply.get("result", reply.get("error"))
    for number in range(len(wanted)):
        wire.say(json.dumps(replies[number]) + "\n")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
