"""Runs the corpus and measures the time: `make data-checks-corpus SEED=1001`."""

from __future__ import annotations

import argparse
import gc
import logging
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice

import numpy as np
import pandas as pd

import agentnb
from tests.benchmarks.data_checks import independent
from tests.benchmarks.data_checks.corpus import alarms, faults, run_fault, run_ordinary
from tests.benchmarks.data_checks.tables import DEVELOPED, HELD_OUT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=len(faults()))
    parser.add_argument("--ordinary", type=int, default=200)
    parser.add_argument("--developed", action="store_true", help="the domains that the checks were developed with")
    parser.add_argument("--independent", action="store_true", help="the steps of independent.txt instead")
    parser.add_argument("--speed", action="store_true", help="measure the time instead")
    chosen = parser.parse_args()
    if chosen.speed:
        return _speed()
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("agentnb.checks").setLevel(logging.DEBUG)  # shows checks that fail
    if chosen.independent:
        return _independent(chosen.seed)
    domains = DEVELOPED if chosen.developed else HELD_OUT
    detected, kinds = 0, dict[str, list[bool]]()
    rng = np.random.default_rng(chosen.seed)
    for number, (fault, polars) in enumerate(islice(cycle(faults()), chosen.faults)):
        checks, text, about = run_fault(fault, domains[number % len(domains)], rng, polars=polars)
        right = [each for each in checks if each.cause in fault.causes and about in each.text + "".join(each.columns)]
        detected += bool(right)
        kinds.setdefault(fault.kind, []).append(bool(right))
        if not right:
            print(f"missed {fault.kind}: {text!r}\n    {checks}")
    ordinary, false = alarms(), 0
    order = rng.permutation(len(ordinary))
    for number in range(chosen.ordinary):
        step, polars = ordinary[order[number % len(order)]]
        checks, text = run_ordinary(step, domains[number % len(domains)], rng, polars=polars)
        if checks:
            false += 1
            print(f"alarm: {text!r}\n    {checks}")
    for kind, results in kinds.items():
        print(f"{kind:12} {sum(results)}/{len(results)}")
    shares = f"{detected / max(1, chosen.faults):.0%}", f"{false / max(1, chosen.ordinary):.1%}"
    print(f"seed {chosen.seed}: {detected}/{chosen.faults} faults with the right cause ({shares[0]}),", end=" ")
    print(f"{false}/{chosen.ordinary} alarms ({shares[1]})")
    return 0 if detected >= 0.85 * chosen.faults and false <= 0.03 * chosen.ordinary else 1


def _independent(seed: int) -> int:
    result = independent.run(seed)
    for step, checks in result.missed:
        print(f"missed {step.cause}: {step.code!r}\n    {checks}")
    for step, checks in result.alarms:
        print(f"alarm: {step.code!r}\n    {checks}")
    detected, false = result.faults - len(result.missed), len(result.alarms)
    print(f"seed {seed}: {detected}/{result.faults} faults with the right cause, {false}/{result.ordinary} alarms")
    return 0 if detected >= 0.85 * result.faults and false <= 0.03 * result.ordinary else 1


def _steps(events: pd.DataFrame, customers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "join", events.merge(customers, on="customer")
    yield "unit", events.assign(price=events["price"] * 100)
    yield "filter", events[events["price"] > 50]
    yield "sort", events.sort_values("price")
    yield "twice", pd.concat([events, events.head(1_000)], ignore_index=True)
    yield "summary", events.groupby("customer", as_index=False)["price"].sum()


def _speed() -> int:
    slowest = 0.0
    for rows, limit in ((1_000_000, 0.1), (10_000_000, 0.3)):
        rng = np.random.default_rng(1)
        events = pd.DataFrame(
            {
                "id": np.arange(rows),
                "customer": rng.integers(0, rows // 20, rows),
                "time": np.datetime64("2024-01-01") + rng.integers(0, 10**7, rows).astype("timedelta64[s]"),
                "price": rng.normal(50, 9, rows),
                "region": pd.Series(rng.choice(["north", "south", "east"], rows)),
            }
        )
        customers = pd.DataFrame({"customer": np.arange(rows // 20), "segment": rng.choice(list("abc"), rows // 20)})
        customers = pd.concat([customers, customers.head(3)], ignore_index=True)
        before = {"events": events, "customers": customers}
        for name, after in _steps(events, customers):
            times, checks = [], agentnb.DataChecks()
            for _ in range(5):
                gc.collect()
                begun, worked = time.perf_counter(), time.process_time()
                checks = agentnb.compare(before, {**before, "events": after})
                times.append((time.perf_counter() - begun, time.process_time() - worked))
            taken, processor = (statistics.median(each) for each in zip(*times, strict=True))
            slowest = max(slowest, taken / limit)
            print(
                f"{rows:>11,} rows, {name:8} {taken * 1000:6.0f} ms, {processor * 1000:4.0f} of the processor", end=" "
            )
            print(f"(at most {limit * 1000:.0f})  {checks!s}")
    return 0 if slowest <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
