"""Writes files directly, without asking: the prompt is a JSON list of steps.

`["write", path, text]`, `["delete", path]`, `["move", path, to]`, `["folder", path]`, `["vanish"]` (removes the
session's folder, which is empty), `["claim", path]` (a tool call
that names the file), `["run"]` (one that says it ran a command), `["wait", pipe]` (until someone writes into that named
pipe). Paths are relative to the session's folder.
"""

import json
import os
from pathlib import Path

import wire


def new(request):
    os.chdir(request["params"]["cwd"])
    wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    for number, (step, *rest) in enumerate(json.loads(request["params"]["prompt"][0]["text"])):
        path = rest[0] if rest else ""
        if step == "write":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(rest[1].encode("utf-8", "surrogateescape"))
        elif step == "delete":
            Path(path).unlink()
        elif step == "move":
            Path(path).rename(rest[1])
        elif step == "vanish":
            Path.cwd().rmdir()
        elif step == "folder":
            Path(path).mkdir(parents=True)
        elif step == "claim":
            place = {"path": str(Path(path).absolute())}
            wire.update(
                "tool_call",
                toolCallId=f"call-{number}",
                title="Edit",
                kind="edit",
                status="completed",
                locations=[place],
            )
        elif step == "run":
            wire.update("tool_call", toolCallId=f"call-{number}", title="Run", kind="execute", status="completed")
        elif step == "wait":
            Path(path).read_bytes()
    wire.say("Done.")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new)
