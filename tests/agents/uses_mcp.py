"""Uses the MCP servers that its client serves over ACP: ``NAME TOOL ARGUMENTS`` calls a tool, ``leave`` disconnects."""

import json

import wire

connections = {}
numbers = iter(range(1, 1000))


def call(method, /, **params):
    number = next(numbers)
    wire.send({"id": number, "method": method, "params": params})
    while (message := wire.receive()).get("id") != number or "method" in message:
        if "method" in message and "id" in message:  # a server's request; the client numbers its requests separately
            wire.answer(message, {"heard": message["params"]["method"]})
    return message


def inner(connection, method, /, **params):
    return call("mcp/message", connectionId=connection, method=method, params=params)


def new(request):
    for server in request["params"]["mcpServers"]:
        if server.get("type") == "acp":
            connected = call("mcp/connect", serverId=server["serverId"])
            if "error" in connected:
                continue
            connection = connections[server["name"]] = connected["result"]["connectionId"]
            inner(connection, "initialize", protocolVersion="2025-06-18", capabilities={})
            note = {"connectionId": connection, "method": "notifications/initialized"}
            wire.send({"method": "mcp/message", "params": note})
    wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    name, *words = request["params"]["prompt"][0]["text"].split()
    if name == "leave":
        for connection in connections.values():
            call("mcp/disconnect", connectionId=connection)
        wire.say("Left.")
    else:
        tool, *arguments = words
        reply = inner(connections[name], "tools/call", name=tool, arguments={"words": arguments})
        wire.say(json.dumps(reply.get("result", reply.get("error"))))
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"acp": True})
