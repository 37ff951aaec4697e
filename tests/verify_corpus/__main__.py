"""Makes notebooks with planted faults and clean ones from a seed, verifies each, and prints how many were found."""

import argparse
import hashlib
import importlib.util
import json
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from jupyter_client.manager import start_new_kernel

import agentnb
from tests.verify_corpus.clean import NEEDS, TOPICS, clean
from tests.verify_corpus.faults import FAULTS
from tests.verify_corpus.more_faults import NEEDING, PLAIN
from tests.verify_corpus.plan import Plan, make

HANG_SECONDS = 8.0


def plans(seed: int, faulty: int, clean_ones: int, topics: list[str], *, new: bool) -> list[Plan]:
    """All notebooks of a seed; each kind of fault as often as the others."""
    rng = random.Random(seed)
    made = [clean(rng, f"clean{at:03}", topics) for at in range(clean_ones)]
    more = [each for topic in topics for each in NEEDING.get(topic, ())]
    kinds = [*FAULTS, *PLAIN, *more] if not new else [*PLAIN, *more]
    for at in range(faulty):
        plant = kinds[at % len(kinds)]
        made.append(plant(rng, clean(rng, f"fault{at:03}", topics)))
    return made


def contents(folder: Path) -> dict[str, str]:
    """The digest of each file below *folder*."""
    files = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return {str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def own_time(notebook: Path) -> float:
    """How long the notebook's cells take in a kernel of their own, with its start: what a run without us costs."""
    cells = [each for each in json.loads(notebook.read_text())["cells"] if each["cell_type"] == "code"]
    begun = time.monotonic()
    manager, client = start_new_kernel(cwd=str(notebook.parent), stdout=DEVNULL, stderr=DEVNULL)
    for each in cells:
        client.execute_interactive(each["source"], output_hook=lambda _: None, timeout=60, allow_stdin=False)
    taken = time.monotonic() - begun
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    return taken


def verified(plan: Plan, notebook: Path) -> dict[str, Any]:
    """One row of the table."""
    before = contents(notebook.parent)
    seconds = HANG_SECONDS if plan.fault == "hang" else 60.0
    result = agentnb.verify(notebook, seconds=seconds)
    kinds = [(each.kind, each.cell.id if each.cell else "") for each in result.findings]
    return {
        "name": plan.name,
        "topic": plan.topic,
        "fault": plan.fault,
        "ok": result.ok,
        "right": any(kind in plan.kinds and cell in plan.places for kind, cell in kinds),
        "findings": kinds,
        "runs": result.runs,
        "seconds": result.seconds,
        "touched": contents(notebook.parent) != before,
        "text": repr(result),
    }


def main() -> int:
    """Make, verify, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faulty", type=int, default=60)
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--timed", type=int, default=10, help="clean notebooks whose own run time is measured, too")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--new", action="store_true", help="only the faults of more_faults.py")
    parser.add_argument("--show", action="store_true", help="print what was found wrongly")
    arguments = parser.parse_args()
    absent = [topic for topic, module in NEEDS.items() if importlib.util.find_spec(module) is None]
    topics = [each for each in TOPICS if each not in absent]
    made = plans(arguments.seed, arguments.faulty, arguments.clean, topics, new=arguments.new)
    with tempfile.TemporaryDirectory(prefix="verify-corpus-") as temporary:
        with ThreadPoolExecutor(arguments.workers) as pool:
            notebooks = [*pool.map(lambda plan: make(plan, Path(temporary, plan.name)), made)]
            rows = [*pool.map(verified, made, notebooks)]
        timed = [at for at, plan in enumerate(made) if not plan.fault][: arguments.timed]
        costs = []
        for at in timed:
            own = own_time(notebooks[at])
            costs.append(agentnb.verify(notebooks[at]).seconds - own)
    return report(rows, costs, absent, arguments)


def report(rows: list[dict[str, Any]], costs: list[float], absent: list[str], arguments: argparse.Namespace) -> int:
    """Print the figures."""
    faults, fine = [each for each in rows if each["fault"]], [each for each in rows if not each["fault"]]
    caught, right = [each for each in faults if not each["ok"]], [each for each in faults if each["right"]]
    alarms = [each for each in fine if not each["ok"]]
    for each in rows:
        if (each["fault"] and not each["right"]) or (not each["fault"] and not each["ok"]):
            print(f"{each['name']} ({each['topic']}): planted {each['fault'] or 'nothing'}; found {each['findings']}")
            if arguments.show:
                print("    " + each["text"].replace("\n", "\n    "))
    share = lambda part, whole: f"{len(part)} of {len(whole)} ({100 * len(part) / max(1, len(whole)):.1f} %)"  # noqa: E731
    print(f"seed {arguments.seed}; kinds of faults: {len({each['fault'] for each in faults})}")
    print(f"absent: {', '.join(absent) or 'nothing'}")
    print(f"faults found: {share(caught, faults)}")
    print(f"with the right cell and cause: {share(right, faults)}")
    print(f"false alarms: {share(alarms, fine)}")
    if costs:
        costs.sort()
        print(f"cost above the notebook's own run: median {costs[len(costs) // 2]:.2f} s, worst {costs[-1]:.2f} s")
    print(f"notebooks whose files were touched: {sum(each['touched'] for each in rows)}")
    return 0 if len(caught) >= 0.95 * len(faults) and len(alarms) <= 0.02 * len(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
