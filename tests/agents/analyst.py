"""Plots the notebook's data and fixes a failed cell: the agent of the manual's first picture."""

import wire
from assistant import FAILED, SOURCE, call, new

PLOT = """from matplotlib import pyplot as plt

figure, axes = plt.subplots(figsize=(4.4, 2.2), layout="constrained")
for row, (species, found) in enumerate(masses.items()):
    known = [float(value) for value in found if value != "n/a"]
    axes.scatter(known, [row] * len(known), s=60, alpha=0.7)
axes.set_yticks(range(len(masses)), list(masses))
axes.set_xlabel("body mass in grams")
axes.set_ylim(-0.6, len(masses) - 0.4)
display(figure)
plt.close(figure)"""
MENDED = """def mean(values):
    known = [float(value) for value in values if value != "n/a"]
    return sum(known) / len(known)"""


def plot():
    call("run_code", code=PLOT)
    wire.say("Gentoos are about **1.5 kg** heavier, and the two hardly overlap.")


def fix(text, cell):
    source = {match["id"]: match["source"] for match in SOURCE.finditer(text)}[cell]
    wire.say(
        'One mass of the Adélies is `"n/a"`: it was not measured. The mean leaves such values out,'
        " $\\bar m = \\frac{1}{n} \\sum_{i=1}^{n} m_i$ over the $n$ known ones."
    )
    call("replace_cell", cell=cell, source=MENDED + source[source.index("\n\n") :])


def prompt(request):
    blocks = request["params"]["prompt"]
    text = "\n".join(block.get("text") or block.get("resource", {}).get("text", "") for block in blocks)
    if failed := FAILED.search(text):
        fix(text, failed[1])
    else:
        plot()
    wire.answer(request, {"stopReason": "end_turn"})


if __name__ == "__main__":
    wire.run(prompt, new, mcpCapabilities={"acp": True})
