"""Fixes what a verification found in the open notebook: defines the missing name in its cell and runs it."""

import re

import wire

FINDING = re.compile(r"cell id (\S+) \(deleted-cell\).*`(\w+)`")
connection = None


def call(name, **arguments):
    return wire.call_tool(connection, name, **arguments)


def new(request):
    global connection  # noqa: PLW0603
    (server, *_) = request["params"]["mcpServers"]
    connection = wire.connect(server)
    wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    cell, name = FINDING.search(request["params"]["prompt"][0]["text"]).groups()
    call("replace_cell", cell=cell, source=f"{name} = 1\nprint({name})")
    call("run_cell", cell=cell)
    wire.say(f"{name} is defined again.")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"acp": True})
