"""Plays the agent's side of a recording: ``replays.py RECORDING NUMBER``, NUMBER counting its processes from zero.

It writes the agent's messages in order and waits for the client's: a request of the same method, or an answer to the
same id. The client's ids may differ. While it waits for an action of a person, it sends the extension notification
`_replay/waits`; after the last message it sends `_replay/over`.
"""

import itertools
import json
import sys
from collections import deque
from pathlib import Path

import wire


def entries(path, number):
    current = -1
    with Path(path).open(encoding="utf-8") as recording:
        for line in recording:
            entry = json.loads(line)
            current += entry["dir"] == "meta" and "spawn" in entry["msg"]
            if current == number:
                yield entry


class Player:
    def __init__(self, answered):
        self.answered = answered  # ids of the requests that the recorded agent answered
        self.open = []  # prompts that it never answered
        self.ids = {}  # maps the recorded id of a client's request to its present id
        self.session = None
        self.early = deque()

    def expect(self, message):
        for received in itertools.chain(self._kept(), iter(wire.receive, None)):
            if self.matches(message, received):
                if "method" in message and "id" in message:
                    self.ids[json.dumps(message["id"])] = received["id"]
                if message.get("method") == "session/prompt" and message["id"] not in self.answered:
                    self.open.append(received["id"])
                return
            if not self.unstick(received):
                self.early.append(received)

    def unstick(self, received):
        """Ends a prompt whose recorded client cancelled without answering a request; agentnb answers it."""
        if "method" in received or not self.open:
            return False
        wire.send({"id": self.open.pop(), "result": {"stopReason": "cancelled"}})
        return True

    def _kept(self):
        for _ in range(len(self.early)):
            yield self.early.popleft()

    def matches(self, message, received):
        if "method" in message:
            return received.get("method") == message["method"]
        return received.get("id") == message.get("id") and "method" not in received

    def say(self, message):
        if "method" not in message:
            key = json.dumps(message["id"])
            if key not in self.ids:
                return
            message = {**message, "id": self.ids[key]}
            self.session = (message.get("result") or {}).get("sessionId", self.session)
        wire.raw(json.dumps(message).encode() + b"\n")

    def tell(self, notification, **params):
        wire.send({"method": notification, "params": {"sessionId": self.session, **params}})

    def play(self, entry):
        message = entry["msg"]
        match entry["dir"]:
            case "agent->client":
                self.say(message)
            case "client->agent" if isinstance(message, dict):
                if message.get("method") == "session/load":
                    self.session = message["params"]["sessionId"]
                if self.session is not None and message.get("method") == "session/cancel":
                    self.tell("_replay/waits", method=message["method"])
                self.expect(message)
            case "stderr":
                print(message, file=sys.stderr)
            case "stdout-garbage":
                wire.raw(str(message).encode() + b"\n")


recorded = list(entries(sys.argv[1], int(sys.argv[2])))
messages = [each["msg"] for each in recorded if each["dir"] == "agent->client"]
player = Player({message["id"] for message in messages if "method" not in message})
for each in recorded:
    player.play(each)
player.tell("_replay/over")
while True:
    request = wire.receive()
    if "method" in request and "id" in request:
        wire.refuse(request, -32601, "the recording is over")
