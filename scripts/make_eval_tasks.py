"""Writes example tasks for `agentnb eval` into a folder; with `--hunt`, counts wrong solutions that checks let pass.

The tasks are ours, and are made from a seed: equal bytes each time. `--solutions FILE` writes the right solutions, by
prompt, as `tests/agents/solves.py` reads them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.eval_tasks import notebooks, records, tables  # noqa: E402 - behind the path

EXAMPLES = (*tables.EXAMPLES, *records.EXAMPLES, *notebooks.EXAMPLES)


def write_tasks(folder: Path) -> None:
    """Write all tasks into *folder*."""
    for each in EXAMPLES:
        each.write(folder)


def solutions(folder: Path) -> dict[str, dict[str, object]]:
    """The right solutions of the tasks written in *folder*, by their prompts."""
    by_prompt: dict[str, dict[str, object]] = {}
    for each in EXAMPLES:
        right = each.right(folder / each.name)
        files = {name: text if isinstance(text, str) else text.decode() for name, text in right.files.items()}
        by_prompt[each.prompt.strip()] = {"answer": right.answer, "files": files}
    return by_prompt


def hunt(folder: Path) -> tuple[Counter[str], list[str]]:
    """Check right and wrong solutions of all tasks; returns counts, and what came out otherwise than it should."""
    counts: Counter[str] = Counter()
    odd: list[str] = []
    for each in EXAMPLES:
        made = each.write(folder)
        outcome, why = each.outcome(made, each.right(made))
        counts[f"right: {outcome}"] += 1
        odd += [] if outcome == "right" else [f"{each.name}: the right solution is {outcome}: {why}"]
        for number, solution in enumerate(each.wrong(made), 1):
            outcome, why = each.outcome(made, solution)
            counts[f"wrong: {outcome}"] += 1
            odd += [] if outcome == "wrong" else [f"{each.name}: wrong solution {number} is {outcome}: {why}"]
    return counts, odd


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--hunt", action="store_true", help="try right and wrong solutions")
    parser.add_argument("--solutions", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.folder is None and not arguments.hunt:
        parser.error("name the folder to write to")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        write_tasks(folder)
        print(f"{len(EXAMPLES)} tasks")
        if arguments.solutions is not None:
            arguments.solutions.write_text(json.dumps(solutions(folder), indent=1), encoding="utf-8")
        if not arguments.hunt:
            return 0
        counts, odd = hunt(folder)
    print(*(f"{name}: {count}" for name, count in sorted(counts.items())), *odd, sep="\n")
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main())
