"""Writes files directly, without asking: the prompt is a JSON list of steps.

`["write", path, text]`, `["repeat", path, text, times]`, `["delete", path]`, `["move", path, to]`, `["folder", path]`,
`["executable", path]`, `["link", path, target]`, `["vanish"]` (removes the session's folder, which is empty),
`["ask", path, text]` (the client writes the file), `["shell", command]` (the client runs the command),
`["claim", path]` (a tool call that names the file), `["run"]` (one that claims it ran a command), `["wait", pipe]`
(until someone writes into that named pipe). Paths are relative to the session's folder.
"""

import json
import os
from pathlib import Path

import wire


def new(request):
    os.chdir(request["params"]["cwd"])
    wire.answer(request, {"sessionId": wire.SESSION})


def write(path, text):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode("utf-8", "surrogateescape"))


STEPS = {
    "write": write,
    "repeat": lambda path, text, times: write(path, text * times),
    "delete": os.unlink,
    "move": os.rename,
    "folder": os.makedirs,
    "executable": lambda path: Path(path).chmod(0o755),
    "link": lambda path, target: Path(path).symlink_to(target),
    "vanish": lambda: Path.cwd().rmdir(),
    "wait": lambda pipe: Path(pipe).read_bytes(),
}


def prompt(request):
    for number, (step, *rest) in enumerate(json.loads(request["params"]["prompt"][0]["text"])):
        call = {"toolCallId": f"call-{number}", "status": "completed"}
        if step == "claim":
            place = {"path": str(Path(rest[0]).absolute())}
            wire.update("tool_call", **call, title="Edit", kind="edit", locations=[place])
        elif step == "ask":
            wire.ask(number, "fs/write_text_file", path=str(Path(rest[0]).absolute()), content=rest[1])
        elif step == "shell":
            made = wire.ask(10 * number, "terminal/create", command="sh", args=["-c", rest[0]], cwd=str(Path.cwd()))
            wire.ask(10 * number + 1, "terminal/wait_for_exit", terminalId=made["result"]["terminalId"])
        elif step == "run":
            wire.update("tool_call", **call, title="Run", kind="execute")
        else:
            STEPS[step](*rest)
    wire.say("Done.")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new)
