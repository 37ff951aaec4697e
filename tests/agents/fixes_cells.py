"""Fixes the cell that failed, as the error in the prompt names it: a division asks whether the divisor is 0."""

import re

import wire

FAILED = re.compile(r"The cell that failed: In \[(\d+)\] \(cell id ([^)]+)\)")
SOURCE = re.compile(r"\(cell id (?P<id>[^)]+)\) as it (?:was run|reads now):\n```\n(?P<source>.*?)\n```", re.DOTALL)
connection = None
numbers = iter(range(1, 1000))


def request(method, /, **params):
    number = next(numbers)
    wire.send({"id": number, "method": method, "params": params})
    while (said := wire.receive()).get("id") != number or "method" in said:
        pass
    return said["result"]


def new(asked):
    global connection  # noqa: PLW0603
    (server,) = asked["params"]["mcpServers"]
    connection = request("mcp/connect", serverId=server["serverId"])["connectionId"]
    wire.answer(asked, {"sessionId": wire.SESSION})


def prompt(asked):
    blocks = asked["params"]["prompt"]
    text = "\n".join(block.get("text") or block.get("resource", {}).get("text", "") for block in blocks)
    number, cell = FAILED.search(text).groups()
    if "Fix the error" in text:
        source = {found["id"]: found["source"] for found in SOURCE.finditer(text)}[cell]
        fixed = re.sub(r"(\w+) / (\w+)", r"\1 / \2 if \2 else 0.0", source)
        params = {"name": "replace_cell", "arguments": {"cell": cell, "source": fixed}}
        request("mcp/message", connectionId=connection, method="tools/call", params=params)
        wire.say(f"The divisor in cell {number} was 0.")
    else:
        wire.say(f"Cell {number} divides by 0.")
    wire.answer(asked, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"acp": True})
