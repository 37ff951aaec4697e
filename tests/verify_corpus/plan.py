"""A notebook to be made: its cells, the order in which they were run, its files, and what is wrong with it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from jupyter_client.manager import start_new_kernel

KERNEL_SECONDS = 120


@dataclass
class PlannedCell:
    """A cell as it stands in the notebook; its outputs and count come from the run."""

    key: str
    source: str
    kind: str = "code"
    outputs: list[dict[str, Any]] = field(default_factory=list)
    count: int | None = None


@dataclass
class Step:
    """One execution: the source that was run then, for a cell or for one that was deleted since."""

    key: str
    source: str
    pretended: list[dict[str, Any]] | None = None
    """The outputs to show, where the source cannot run here."""


@dataclass
class Plan:
    """A notebook."""

    name: str
    topic: str
    cells: list[PlannedCell]
    steps: list[Step]
    files: dict[str, str] = field(default_factory=dict)
    after: list[Callable[[Path], object]] = field(default_factory=list)
    fault: str = ""
    kinds: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()

    def cell(self, key: str) -> PlannedCell:
        return next(each for each in self.cells if each.key == key)

    def index(self, key: str) -> int:
        return next(at for at, each in enumerate(self.cells) if each.key == key)

    def step(self, key: str) -> Step:
        return next(each for each in self.steps if each.key == key)

    def add(self, source: str, *, at: int | None = None, pretended: list[dict[str, Any]] | None = None) -> str:
        """Add a cell that was run in its place."""
        key = f"cell{len(self.cells)}x{len(self.steps)}"
        at = len(self.cells) if at is None else at
        before = [each.key for each in self.cells[:at] if each.kind == "code"]
        step_at = max((self.steps.index(self.step(each)) + 1 for each in before), default=0)
        self.cells.insert(at, PlannedCell(key, source))
        self.steps.insert(step_at, Step(key, source, pretended))
        return key

    def is_faulty(self, fault: str, kinds: set[str], *places: str) -> "Plan":
        self.fault, self.kinds, self.places = fault, frozenset(kinds), frozenset(places)
        return self


def planned(name: str, topic: str, sources: list[str], files: dict[str, str] | None = None) -> Plan:
    """A notebook that was run from the top; a source that begins with ``#md`` is a Markdown cell."""
    cells, steps = [], []
    for at, source in enumerate(sources):
        if source.startswith("#md"):
            cells.append(PlannedCell(f"cell{at}", source[4:], "markdown"))
        else:
            cells.append(PlannedCell(f"cell{at}", source))
            steps.append(Step(f"cell{at}", source))
    return Plan(name, topic, cells, steps, files or {})


def stream(text: str) -> list[dict[str, Any]]:
    return [{"output_type": "stream", "name": "stdout", "text": text}]


def make(plan: Plan, folder: Path) -> Path:
    """Run the steps in a kernel, and write the notebook and its files."""
    folder.mkdir(parents=True)
    for name, text in plan.files.items():
        (folder / name).write_text(text, "utf-8")
    manager, client = start_new_kernel(cwd=str(folder), stdout=DEVNULL, stderr=DEVNULL)
    try:
        shown: list[dict[str, Any]] = []
        for step in plan.steps:
            outputs, count = _run(client, "pass" if step.pretended is not None else step.source, shown)
            shown += outputs
            cell = next((each for each in plan.cells if each.key == step.key), None)
            if cell is not None:
                cell.outputs, cell.count = outputs if step.pretended is None else step.pretended, count
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    path = folder / "notebook.ipynb"
    path.write_text(json.dumps(_content(plan), indent=1), "utf-8")
    for change in plan.after:
        change(folder)
    return path


def _run(client: Any, source: str, earlier: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    outputs: list[dict[str, Any]] = []

    def take(message: dict[str, Any]) -> None:
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream" and outputs and outputs[-1].get("name") == content["name"]:
            outputs[-1]["text"] += content["text"]
        elif kind == "clear_output":
            outputs.clear()  # at once, which is the same once the next output has come
        elif kind == "update_display_data":
            for each in [*earlier, *outputs]:
                if each.get("transient") == content["transient"]:
                    each["data"] = content["data"]
        elif kind in {"stream", "display_data", "execute_result", "error"}:
            outputs.append({"output_type": kind, **content})

    reply = client.execute_interactive(source, output_hook=take, timeout=KERNEL_SECONDS, allow_stdin=False)
    return outputs, reply["content"]["execution_count"]


def _content(plan: Plan) -> dict[str, Any]:
    cells: list[dict[str, Any]] = []
    for each in plan.cells:
        cell: dict[str, Any] = {"cell_type": each.kind, "id": each.key, "metadata": {}, "source": each.source}
        if each.kind == "code":
            outputs = [{key: value for key, value in one.items() if key != "transient"} for one in each.outputs]
            cell |= {"outputs": outputs, "execution_count": each.count}
        cells.append(cell)
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
