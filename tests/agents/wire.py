"""Shared code of the scripted agents: reading and writing lines, and the usual answers.

Each agent next to this file is a program that speaks ACP on stdio and has one behaviour. It uses no SDK, so that it
can misbehave.
"""

import itertools
import json
import sys

SESSION = "session-1"
numbers = itertools.count(1)


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def answer(request, result):
    send({"id": request["id"], "result": result})


def refuse(request, code, message, data=None):
    send({"id": request["id"], "error": {"code": code, "message": message, "data": data}})


def update(kind, session=SESSION, /, **fields):
    send({"method": "session/update", "params": {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}})


def say(words, session=SESSION):
    update("agent_message_chunk", session, content={"type": "text", "text": words})


def ask(number, method, **params):
    send({"id": number, "method": method, "params": {"sessionId": SESSION, **params}})
    return receive()


def receive():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def request(method, /, **params):
    """Sends the client a request and waits for its answer; ignores other messages."""
    number = next(numbers)
    send({"id": number, "method": method, "params": params})
    while (message := receive()).get("id") != number or "method" in message:
        pass
    return message


def connect(server):
    """Connects to an MCP server that the client serves over ACP; returns the connection's id."""
    return request("mcp/connect", serverId=server["serverId"])["result"]["connectionId"]


def call_tool(connection, name, /, **arguments):
    """Calls a tool of such a server; returns its result."""
    params = {"name": name, "arguments": arguments}
    return request("mcp/message", connectionId=connection, method="tools/call", params=params)["result"]


def initialize(request, **capabilities):
    answer(
        request,
        {
            "protocolVersion": 1,
            "agentInfo": {"name": "scripted", "title": "Scripted", "version": "1.0"},
            "agentCapabilities": {"promptCapabilities": {"image": True}, **capabilities},
            "authMethods": [],
        },
    )


def run(prompt, new=None, **capabilities):
    """Gives the usual answers; `prompt(request)` answers a prompt, `new(request)` a new session."""
    while True:
        request = receive()
        match request.get("method"):
            case "initialize":
                initialize(request, **capabilities)
            case "session/new" if new is not None:
                new(request)
            case "session/new":
                answer(request, {"sessionId": SESSION})
            case "session/prompt":
                prompt(request)
            case _ if "id" in request and "method" in request:
                refuse(request, -32601, "Method not found")
