"""A small MCP server on stdio, which agents start. Newline-delimited JSON-RPC, no SDK.

It offers ``where`` (its arguments, its folder and the variable ``LEVEL``), ``add`` (a and b), ``fail`` and ``die``,
on two pages. With ``mute`` it exits at once, with ``rude`` it refuses to be initialized, with ``leaves`` it leaves a
program running that has its stdout; the process id is in the file ``left``.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

TOOLS = [
    {"name": "where", "description": "Says where it runs.", "inputSchema": {"type": "object"}},
    {"name": "add", "description": "Adds a and b.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object"}},
    {"name": "die", "description": "Ends the server.", "inputSchema": {"type": "object"}},
]


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def call(name, arguments):
    match name:
        case "where":
            facts = {"args": sys.argv[1:], "cwd": str(Path.cwd()), "level": os.environ.get("LEVEL")}
            return {"content": [{"type": "text", "text": json.dumps(facts)}], "structuredContent": facts}
        case "add":
            return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}
        case "fail":
            return {"content": [{"type": "text", "text": "it did not work"}], "isError": True}
        case "die":
            sys.exit(5)


def page(cursor):
    return {"tools": TOOLS[2:]} if cursor else {"tools": TOOLS[:2], "nextCursor": "2"}


if "leaves" in sys.argv:
    Path("left").write_text(str(subprocess.Popen(["sleep", "60"]).pid))
if "mute" in sys.argv:
    sys.exit(6)
print("a line that is no message", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params") or {}
    match message["method"]:
        case "initialize" if "rude" in sys.argv:
            send(id=message["id"], error={"code": -32602, "message": "Unsupported protocol version"})
        case "initialize":
            offers = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
            send(id=message["id"], result={**offers, "serverInfo": {"name": "scripted", "version": "1.0"}})
            send(method="notifications/message", params={"level": "info", "data": "ready"})
        case "tools/list":
            send(id=message["id"], result=page(params.get("cursor")))
        case "tools/call":
            send(id=message["id"], result=call(params["name"], params.get("arguments") or {}))
        case _ if "id" in message:
            send(id=message["id"], error={"code": -32601, "message": "Method not found"})
