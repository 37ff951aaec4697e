"""Uses only MCP servers over HTTP: ``TOOL ARGUMENTS`` calls a tool of the first, with JSON arguments."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

import wire

servers = []


def post(server, message, session=None):
    headers = {each["name"]: each["value"] for each in server["headers"]}
    headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"Mcp-Session-Id": session} if session else {}
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    address = urlsplit(server["url"])
    connection = HTTPConnection(address.netloc)
    connection.request("POST", address.path, body, headers)
    answer = connection.getresponse()
    reply = json.loads(answer.read() or "null")
    connection.close()
    return answer.headers["Mcp-Session-Id"], reply


def new(request):
    servers.extend(each for each in request["params"]["mcpServers"] if each.get("type") == "http")
    wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    tool, _, arguments = request["params"]["prompt"][0]["text"].partition(" ")
    if servers:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        session, _ = post(servers[0], {"id": 1, "method": "initialize", "params": params})
        post(servers[0], {"method": "notifications/initialized"}, session)
        called = {"name": tool, "arguments": json.loads(arguments)}
        _, reply = post(servers[0], {"id": 2, "method": "tools/call", "params": called}, session)
        wire.say(json.dumps(reply["result"]))
    else:
        wire.say("no servers")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"http": True})
