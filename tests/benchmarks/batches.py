"""Cost of an input of a batch: by concurrency on one machine, beside a Dask cluster.

A batch has ``AGENTNB_BATCH_INPUTS`` inputs (200). Each measurement runs in its own process with its own home;
processor time is that of the kernel and the agents.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from tests.benchmarks.row import Row

INPUTS = int(os.environ.get("AGENTNB_BATCH_INPUTS", "200"))
CONCURRENCIES = (1, 4, 16, 64)
WORKERS = (1, 2, 4)
SLEEPERS = (16, 64)
SLEEP_MS = 4000  # plus the input's number: 4,000 to 4,255 ms
OVERHEAD_MS = 5.0
PROGRAM = """
import json, os, resource, sys, time
import agentnb

if __name__ == "__main__":
    number, concurrency, workers, threads, prompt = int(sys.argv[1]), *map(int, sys.argv[2:5]), sys.argv[5]
    options = {"agent": "eliza", "concurrency": concurrency, "progress": False}
    if workers:
        from distributed import LocalCluster
        options["executor"] = LocalCluster(
            n_workers=workers, threads_per_worker=threads, processes=False, dashboard_address=":0"
        )
    agentnb.map(prompt, ["warm"], **options).wait()
    spent = lambda: sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    memory = lambda: int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6
    before, held, began = spent(), memory(), time.monotonic()
    batch = agentnb.map(prompt, (f"{each:03}" for each in range(number)), **options)
    batch.wait()
    took, cpu, held_more = time.monotonic() - began, spent() - before, memory() - held
    assert batch.counts["done"] == number
    if workers:
        options["executor"].close()
    print(json.dumps({"seconds": took, "cpu": cpu, "megabytes": held_more}))
"""
INTERRUPTED = 16
INTERRUPT_SECONDS = 1.0
INTERRUPT = """
import json, os, signal, sys, threading, time
import agentnb

signal.signal(signal.SIGINT, signal.default_int_handler)
number, at_once = int(sys.argv[1]), int(sys.argv[2])
prompts = ["/say done"] * number + ["/hang"] * at_once + ["/say left"] * number
batch = agentnb.map("{input}", prompts, agent="eliza", concurrency=at_once, progress=False)
pressed = []

def press():
    while batch.counts["done"] < number or batch.counts["running"] < at_once:
        time.sleep(0.01)
    time.sleep(1)  # the turns hang by now
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press).start()
try:
    batch.wait()
except KeyboardInterrupt:
    while batch.counts["cancelled"] < at_once:
        time.sleep(0.001)
    took = time.monotonic() - pressed[0]
batch.wait(check=False)
assert batch.counts == {"running": 0, "done": number, "failed": 0, "cancelled": at_once}, batch.counts
print(json.dumps({"seconds": took, "ended": time.monotonic() - pressed[0]}))
"""


def run(
    number: int, concurrency: int, *, workers: int = 0, threads: int = 1, prompt: str = "/say {input}"
) -> dict[str, float]:
    """Runs a batch; returns seconds, processor seconds, kernel growth in MB."""
    return _in_a_process(PROGRAM, number, concurrency, workers, threads, prompt)


def _in_a_process(program: str, *arguments: object) -> dict[str, float]:
    """Returns the numbers that *program* prints last."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "AGENTNB_DATA_DIR": home, "JUPYTER_CONFIG_DIR": home}
        workspace = os.path.join(home, "workspace")  # noqa: PTH118 - a text for the process
        os.mkdir(workspace)  # noqa: PTH102 - as above
        words = [sys.executable, "-c", program, *map(str, arguments)]
        done = subprocess.run(words, cwd=workspace, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return measured


def interrupted() -> Row:
    """Measures the time from Ctrl-C until all running inputs are cancelled."""
    measured = _in_a_process(INTERRUPT, INPUTS, INTERRUPTED)
    what = f"an interrupt with {INTERRUPTED} running, until they are cancelled"
    return Row(what=what, value=measured["seconds"], unit="s", at_most=INTERRUPT_SECONDS)


def measure() -> list[Row]:
    plain = {each: run(INPUTS, each) for each in CONCURRENCIES}
    rows = [interrupted()]
    for each, measured in plain.items():
        rows += [
            Row(what=f"{INPUTS:,} inputs, {each} at once", value=INPUTS / measured["seconds"], unit="/s"),
            Row(what=f"  an input, {each} at once", value=measured["seconds"] / INPUTS * 1000, unit="ms"),
            Row(what=f"  memory, {each} at once", value=measured["megabytes"], unit="MB more"),
        ]
    for workers in WORKERS:
        measured = run(INPUTS, 8, workers=workers, threads=max(1, 4 // workers))
        more = (measured["cpu"] - plain[4]["cpu"]) / INPUTS * 1000
        rows.append(
            Row(what=f"  more for an input, {workers} Dask workers", value=more, unit="ms", at_most=OVERHEAD_MS)
        )
    for workers in SLEEPERS:
        number = workers * 4
        measured = run(number, min(256, 2 * workers), workers=workers, prompt=f"/slow 1 {SLEEP_MS // 1000}{{input}}")
        rows.append(
            Row(
                what=f"  agents that sleep, {workers} Dask workers",
                value=number / measured["seconds"],
                unit="/s",
                beside=workers / SLEEP_MS * 1000,
                beside_name="ideal",
            )
        )
    return rows
