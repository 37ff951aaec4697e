"""Fixes the failed cell that the prompt's error names: a division checks if the divisor is 0."""

import re

import wire

FAILED = re.compile(r"The cell that failed: In \[(\d+)\] \(cell id ([^)]+)\)")
SOURCE = re.compile(r"\(cell id (?P<id>[^)]+)\) as it (?:was run|reads now):\n```\n(?P<source>.*?)\n```", re.DOTALL)
connection = None


def new(request):
    global connection  # noqa: PLW0603
    (server,) = request["params"]["mcpServers"]
    connection = wire.connect(server)
    wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    blocks = request["params"]["prompt"]
    text = "\n".join(block.get("text") or block.get("resource", {}).get("text", "") for block in blocks)
    number, cell = FAILED.search(text).groups()
    if "Fix the error" in text:
        source = {match["id"]: match["source"] for match in SOURCE.finditer(text)}[cell]
        fixed = re.sub(r"(\w+) / (\w+)", r"\1 / \2 if \2 else 0.0", source)
        wire.call_tool(connection, "replace_cell", cell=cell, source=fixed)
        wire.say(f"The divisor in cell {number} was 0.")
    else:
        wire.say(f"Cell {number} divides by 0.")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"acp": True})
