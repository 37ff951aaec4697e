#!/usr/bin/env python3
"""An ACP agent whose every chunk has the time when it was sent: ``⟨ms since 1970⟩``. The prompt: ``COUNT PAUSE_MS``.

With ``COUNT PAUSE_MS FILE`` it counts instead, ``00001 00002 …``, at fixed times, which it writes to FILE.
"""

import json
import pathlib
import sys
import threading
import time


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tell(session_id, text):
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    send(method="session/update", params={"sessionId": session_id, "update": update})


def tick(session_id, count, pause):
    clock = threading.Event()
    for _ in range(count):
        clock.wait(pause / 1000)
        tell(session_id, f"⟨{time.time() * 1000:.3f}⟩ ")


def count_on(session_id, count, pause, file):
    clock, times = threading.Event(), []
    start = time.monotonic()
    for number in range(1, count + 1):
        clock.wait(max(0.0, start + number * pause / 1000 - time.monotonic()))
        times.append(time.time() * 1000)
        tell(session_id, f"{number:05d} ")
    whole = pathlib.Path(file + ".new")
    whole.write_text(json.dumps(times))
    whole.replace(file)


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []})
    elif method == "session/new":
        send(id=message["id"], result={"sessionId": "clock"})
    elif method == "session/prompt":
        words = "".join(block.get("text", "") for block in params["prompt"]).split()
        stream = count_on if len(words) == 3 else tick
        stream(params["sessionId"], int(words[0]), float(words[1]), *words[2:])
        send(id=message["id"], result={"stopReason": "end_turn"})
    elif "id" in message and method:
        send(id=message["id"], error={"code": -32601, "message": f"no {method}"})
