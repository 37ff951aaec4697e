"""Sends all requests of the prompt at once, a JSON list of `[method, params]`; writes the answers in its order.

A `session/update` in it is a notification, and has no answer.
"""

import json

import wire


def prompt(request):
    count = 0
    for method, params in json.loads(request["params"]["prompt"][0]["text"]):
        is_request = method != "session/update"
        number = {"id": count} if is_request else {}
        wire.send({**number, "method": method, "params": {"sessionId": wire.SESSION, **params}})
        count += is_request
    replies = {}
    while len(replies) < count:
        reply = wire.receive()
        if "method" not in reply:  # skips session/cancel
            replies[reply["id"]] = reply.get("result", reply.get("error"))
    for number in range(count):
        wire.say(json.dumps(replies[number]) + "\n")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt)
