"""Plays a recorded conversation (``FILE``, lines of ``dir`` and ``msg``): writes the agent's messages, as bytes.

It waits for each recorded request and answers under the id that it gets; the agent's own requests keep their recorded
ids.
"""

import json
import pathlib
import sys

import wire

entries = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
ids = {}
early = []


def key(value):
    return json.dumps(value)


def wait(kind, matches):
    """Returns the next message that *matches*."""
    for message in early:
        if matches(message):
            early.remove(message)
            return message
    while True:
        message = wire.receive()
        if matches(message):
            return message
        early.append(message)


for entry in entries:
    message = entry["msg"]
    if not isinstance(message, dict) or entry["dir"] not in ("client->agent", "agent->client"):
        continue
    if entry["dir"] == "client->agent":
        if "method" in message:
            got = wait("request", lambda each, method=message["method"]: each.get("method") == method)
            if "id" in message:
                ids[key(message["id"])] = got["id"]
        else:
            wait("answer", lambda each, number=message["id"]: "method" not in each and each.get("id") == number)
        continue
    if "method" not in message and "id" in message:
        message = {**message, "id": ids.get(key(message["id"]), message["id"])}
    wire.raw(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

# As in the recordings, an agent ends when its client does; until then it reads the client's remaining messages.
while True:
    wire.receive()
