"""Starts its MCP servers on stdio again for each prompt: ``NAME TOOL JSON`` calls a tool.

``NAME env VARIABLE VALUE TOOL JSON`` does so with another value of one variable, ``NAME show`` returns its description.
"""

import contextlib
import json
import os
import subprocess

import wire

servers = {}


def new(request):
    for server in request["params"]["mcpServers"]:
        servers[server["name"]] = server
    wire.answer(request, {"sessionId": wire.SESSION})


def use(server, env, tool, arguments):
    command = [server["command"], *server["args"]]
    with subprocess.Popen(command, env={**os.environ, **env}, stdin=-1, stdout=-1, stderr=-1, text=True) as process:

        def call(number, method, params):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline() or "null")

        try:
            call(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
            reply = call(2, "tools/call", {"name": tool, "arguments": arguments})
        except BrokenPipeError:
            reply = None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        return reply["result"] if reply else f"it ended: {process.stderr.read().strip()}"


def prompt(request):
    name, *words = request["params"]["prompt"][0]["text"].split(" ", 2)
    server = servers[name]
    env = {each["name"]: each["value"] for each in server["env"]}
    if words[0] == "show":
        wire.say(json.dumps({key: server[key] for key in ("command", "args")} | {"env": env}))
    else:
        if words[0] == "env":
            variable, value, *words = words[1].split(" ", 3)
            env[variable] = value
        wire.say(json.dumps(use(server, env, words[0], json.loads(words[1]))))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new)
