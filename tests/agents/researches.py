"""Takes part in a research, on both sides; its argument is the port of the test that controls it.

``ask QUESTION`` has the component ``research`` answer a question about ``json``. For the question itself, it connects
to the test, sends the question, and obeys the line that the test answers:

- ``more TEXT``: returns it as a finding, reports that to the test, and obeys the next answer.
- ``return TEXT``: returns it as the finding.
- ``spend TOKENS``: reports so many tokens in its context, and continues until it is cancelled.
- ``hang``: continues until it is cancelled.

It reports a cancel to the test.
"""

import socket
import sys

import wire

connections = {}


def inner(connection, method, /, **params):
    return wire.request("mcp/message", connectionId=connection, method=method, params=params)


def new(request):
    for server in request["params"]["mcpServers"]:
        connection = wire.connect(server)
        inner(connection, "initialize", protocolVersion="2025-06-18", capabilities={})
        connections[server["name"]] = connection
    wire.answer(request, {"sessionId": wire.SESSION})


def use(tool, **arguments):
    server = "research" if tool == "research" else "package_source"
    return inner(connections[server], "tools/call", name=tool, arguments=arguments)


def ask(request, question):
    reply = use("research", question=question, package="json")
    if "error" in reply:
        wire.answer(request, {"stopReason": "cancelled"})
        return
    wire.say(reply["result"]["content"][0]["text"])
    wire.answer(request, {"stopReason": "end_turn"})


def until_cancelled(request, lines):
    while wire.receive().get("method") != "session/cancel":
        pass
    lines.write("cancelled\n")
    lines.flush()
    wire.answer(request, {"stopReason": "cancelled"})


def research(request, question):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as link, link.makefile("rw") as lines:
        lines.write(f"{question}\n")
        lines.flush()
        what, _, argument = lines.readline().strip().partition(" ")
        while what == "more":
            file, text = argument.split(" ", 1)
            use("return_response", findings=[{"text": text, "file": file, "line": 1}], more=True)
            lines.write("returned\n")
            lines.flush()
            what, _, argument = lines.readline().strip().partition(" ")
        if what == "return":
            use("return_response", findings=[{"text": argument}])
            wire.answer(request, {"stopReason": "end_turn"})
            return
        if what == "spend":
            wire.update("usage_update", used=int(argument), size=1_000_000)
        until_cancelled(request, lines)


def prompt(request):
    text = request["params"]["prompt"][0]["text"]
    question = next((line.partition(": ")[2] for line in text.splitlines() if line.startswith("Question: ")), None)
    if question is None:
        ask(request, text.partition(" ")[2])
    else:
        research(request, question)


wire.run(prompt, new, mcpCapabilities={"acp": True})
