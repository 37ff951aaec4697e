"""Makes one try of a loop after another, as the prompt says: a JSON list with a step for each try, repeated.

A step has some of: ``run``, code for the kernel; ``write``, a file and its text; ``tokens``, reported at its end;
``cost``, dollars reported before it waits; ``wait``, until the turn is cancelled; ``say``, its last words.
"""

import json
import re
from pathlib import Path

import wire

connection = None


def new(request):
    global connection  # noqa: PLW0603
    for server in request["params"]["mcpServers"]:
        connection = wire.connect(server)
    wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    text = request["params"]["prompt"][0]["text"]
    steps, end = json.JSONDecoder().raw_decode(text)
    number = int(re.search(r"This is try (\d+)", text[end:])[1])
    step = steps[(number - 1) % len(steps)]
    if "run" in step:
        wire.call_tool(connection, "run_code", code=step["run"])
    if "write" in step:
        path, content = step["write"]
        Path(path).write_text(content, encoding="utf-8")
    if "cost" in step:
        wire.update("usage_update", used=1, size=1000, cost={"amount": step["cost"], "currency": "USD"})
    reason = "end_turn"
    if "wait" in step:
        while wire.receive().get("method") != "session/cancel":
            pass
        reason = "cancelled"
    wire.say(step.get("say", f"Idea: step {number}"))
    tokens = step.get("tokens", 0)
    usage = {"usage": {"inputTokens": tokens, "outputTokens": 0, "totalTokens": tokens}} if tokens else {}
    wire.answer(request, {"stopReason": reason, **usage})


wire.run(prompt, new, mcpCapabilities={"acp": True})
