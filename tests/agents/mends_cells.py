"""Mends what a verification found in the open notebook: defines the name that is missing in its cell, and runs it."""

import re

import wire

FOUND = re.compile(r"cell id (\S+) \(deleted-cell\).*`(\w+)`")
connection = None
numbers = iter(range(1, 1000))


def request(method, /, **params):
    number = next(numbers)
    wire.send({"id": number, "method": method, "params": params})
    while (said := wire.receive()).get("id") != number or "method" in said:
        pass
    return said["result"]


def call(name, **arguments):
    params = {"name": name, "arguments": arguments}
    return request("mcp/message", connectionId=connection, method="tools/call", params=params)


def new(asked):
    global connection  # noqa: PLW0603
    (server, *_) = asked["params"]["mcpServers"]
    connection = request("mcp/connect", serverId=server["serverId"])["connectionId"]
    wire.answer(asked, {"sessionId": wire.SESSION})


def prompt(asked):
    cell, name = FOUND.search(asked["params"]["prompt"][0]["text"]).groups()
    call("replace_cell", cell=cell, source=f"{name} = 1\nprint({name})")
    call("run_cell", cell=cell)
    wire.say(f"{name} is defined again.")
    wire.answer(asked, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"acp": True})
