"""Works in the kernel silently: ``Analyse`` inserts 14 cells, runs a command, writes files; ``Query`` fails.

``Write <name> <text>`` writes one file. ``Say <text>`` answers it. ``Told`` answers the whole prompt. ``Many`` makes
2,000 tool calls and 500 files, a title of 100 KB and an error of 1 MB. Each turn ends with a sentence.
"""

import json
from pathlib import Path

import wire

connection = None


def tool(name, **arguments):
    wire.call_tool(connection, name, **arguments)


def call(number, title, kind, status="completed", text="", **more):
    content = [{"type": "content", "content": {"type": "text", "text": text}}] if text else []
    wire.update("tool_call", toolCallId=number, title=title, kind=kind, status=status, content=content, **more)


def analyse():
    wire.say("I add the analysis as cells.\n\n")
    for number in range(14):
        tool("insert_cell", source=f"step_{number} = {number}")
    call("list", "`pip list`", "execute", text="numpy 2.0")
    with Path("fit.py").open("a", encoding="utf-8") as file:
        file.write("a = 1\nb = 2\n")
    wire.say("All fourteen cells are in place: they load, clean and plot the data.")


def query():
    for number in range(3):
        call(f"read{number}", f"Read part-{number}.csv", "read", locations=[{"path": f"/data/part-{number}.csv"}])
        call(f"ask{number}", "Query the warehouse", "fetch", "failed", "Connection refused\n" + "  at socket.c\n" * 40)
    wire.say("The warehouse does not answer.")


def many():
    for number in range(2_000):
        call(f"c{number}", f"Step {number}", "search")
    call("long", "Look at " + "x" * 100_000, "read")
    call("bad", "Look at all", "fetch", "failed", "Too much: " + "y" * 1_000_000)
    folder = Path("many")
    folder.mkdir(exist_ok=True)
    for number in range(500):
        (folder / f"file-{number}.txt").write_text(str(number), encoding="utf-8")
    wire.say("That was much.")


def new(request):
    global connection  # noqa: PLW0603
    for server in request["params"]["mcpServers"]:
        connection = wire.connect(server)
    wire.answer(request, {"sessionId": wire.SESSION})


def prompt(request):
    blocks = request["params"]["prompt"]
    word, _, rest = blocks[0]["text"].partition(" ")
    match word:
        case "Analyse":
            analyse()
        case "Query":
            query()
        case "Many":
            many()
        case "Write":
            name, _, text = rest.partition(" ")
            Path(name).write_text(f"{text}\n", encoding="utf-8")
            wire.say(f"Wrote {name}.")
        case "Told":
            wire.say(json.dumps(blocks))
        case _:
            wire.say(rest or "Yes.")
    wire.answer(request, {"stopReason": "end_turn"})


wire.run(prompt, new, mcpCapabilities={"acp": True})
