"""Helps with an analysis on request: loads data, plots, fixes a failed cell, tidies two cells, explains."""

import re

import wire

LOAD = 'sales = {"north": 12, "south": 30, "east": 0}'
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PLOT = f"""from IPython.display import Image, display
import base64
print("plotting", *sales)
display(Image(data=base64.b64decode("{PICTURE}")))"""
FAILED = re.compile(r"The cell that failed: In \[\d+\] \(cell id ([^)]+)\)")
SOURCE = re.compile(r"\(cell id (?P<id>[^)]+)\) as it (?:was run|reads now):\n```\n(?P<source>.*?)\n```", re.DOTALL)
connection = None


def call(name, **arguments):
    return wire.call_tool(connection, name, **arguments)


def new(request):
    global connection  # noqa: PLW0603
    (server,) = request["params"]["mcpServers"]
    connection = wire.connect(server)
    wire.answer(request, {"sessionId": wire.SESSION})


def load(_text):
    call("insert_cell", source=LOAD)
    wire.say("The sales of three regions are in a new cell below. Run it to load them.")


def plot(_text):
    call("run_code", code=PLOT)
    wire.say("The south sells most.")


def fix(text):
    cell = FAILED.search(text).group(1)
    source = {match["id"]: match["source"] for match in SOURCE.finditer(text)}[cell]
    call("replace_cell", cell=cell, source=re.sub(r"(\w+) / (\w+)", r"\1 / \2 if \2 else 0.0", source))
    wire.say("The east sells nothing, so the share divided by 0.")


def tidy(_text):
    call("replace_cell", cell="1", source="north, south = 12, 30\nassert south > north")
    call("replace_cell", cell="3", source=f"# thousands\n{LOAD}")
    wire.say("Both cells are tidy now.")


def explain(_text):
    wire.say("The share of a region is $s_r = x_r / \\sum_i x_i$.")


DOES = {"Load": load, "Plot": plot, "Fix": fix, "Tidy": tidy, "Explain": explain}


def prompt(request):
    blocks = request["params"]["prompt"]
    text = "\n".join(block.get("text") or block.get("resource", {}).get("text", "") for block in blocks)
    next(does for word, does in DOES.items() if text.startswith(word))(text)
    wire.answer(request, {"stopReason": "end_turn"})


if __name__ == "__main__":
    wire.run(prompt, new, mcpCapabilities={"acp": True})
