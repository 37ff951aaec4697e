"""Runs the corpus, and measures the time: `make data-checks-corpus SEED=1001`."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
import warnings
from itertools import cycle, islice
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import agentnb
from tests.benchmarks.data_checks import steps
from tests.benchmarks.data_checks.tables import DEVELOPED, HELD_OUT, Domain, names_of, tables_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=len(steps.FAULTS) + len(steps.POLARS_FAULTS))
    parser.add_argument("--ordinary", type=int, default=200)
    parser.add_argument("--developed", action="store_true", help="the domains that the checks were developed with")
    parser.add_argument("--speed", action="store_true", help="measure the time instead")
    chosen = parser.parse_args()
    if chosen.speed:
        return _speed()
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("agentnb.checks").setLevel(logging.DEBUG)  # a check that fails is shown
    domains = DEVELOPED if chosen.developed else HELD_OUT
    found, kinds = 0, dict[str, list[bool]]()
    rng = np.random.default_rng(chosen.seed)
    faults = [*((each, False) for each in steps.FAULTS), *((each, True) for each in steps.POLARS_FAULTS)]
    for number in range(chosen.faults):
        fault, polars = faults[number % len(faults)] if chosen.faults >= len(faults) else faults[rng.integers(len(faults))]
        checks, text = _run(domains[number % len(domains)], rng, fault.step, fault.before, polars=polars)
        about = _named(fault.about, domains[number % len(domains)])
        right = [each for each in checks if each.cause in fault.causes and about in (each.text + "".join(each.columns))]
        found += bool(right)
        kinds.setdefault(fault.kind, []).append(bool(right))
        if not right:
            print(f"missed {fault.kind}: {text!r}\n    {checks}")
    alarms, ordinary = 0, [*((each, False) for each in steps.ORDINARY), *((each, True) for each in steps.POLARS_ORDINARY)]
    rng.shuffle(ordinary)
    for number, (step, polars) in enumerate(islice(cycle(ordinary), chosen.ordinary)):
        code, _, before = step.partition("|")
        checks, text = _run(domains[number % len(domains)], rng, code, before, polars=str(polars) == "True")
        if checks:
            alarms += 1
            print(f"alarm: {text!r}\n    {checks}")
    for kind, results in kinds.items():
        print(f"{kind:12} {sum(results)}/{len(results)}")
    print(f"seed {chosen.seed}: {found}/{chosen.faults} faults with the right cause ({found / max(1, chosen.faults):.0%}), "
          f"{alarms}/{chosen.ordinary} alarms ({alarms / max(1, chosen.ordinary):.1%})")
    return 0 if found >= 0.85 * chosen.faults and alarms <= 0.03 * chosen.ordinary else 1


def _named(text: str, domain: Domain, *, some: int = 0, seed: int = 0) -> str:
    for short, name in sorted(names_of(domain).items(), key=lambda each: -len(each[0])):
        text = text.replace(f"@{short}", name)
    return text.replace("SOME", str(some)).replace("SEED", str(seed))


def _run(domain: Domain, rng: np.random.Generator, step: str, before: str, *, polars: bool) -> tuple[Any, str]:
    tables: dict[str, Any] = tables_of(domain, rng)
    some, seed = int(rng.integers(3, 25)), int(rng.integers(1, 10_000))
    if polars:
        tables = {name: pl.from_pandas(each) for name, each in tables.items()}
    scope: dict[str, Any] = {"pd": pd, "np": np, "pl": pl, **tables}
    code = [_named(each, domain, some=some, seed=seed) for each in (before, step)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code[0], scope)  # noqa: S102 - the steps are ours
        known = {name: _kept(value) for name, value in scope.items() if not name.startswith("__")}
        same = {name: id(value) for name, value in scope.items()}
        exec(code[1], scope)  # noqa: S102
    after = {name: value for name, value in scope.items() if not name.startswith("__")}
    for name in after:  # what is the same object is unchanged, unless the step wrote to it
        if name in known and same.get(name) == id(after[name]) and _equal(known[name], after[name]):
            known[name] = after[name]
    return agentnb.compare(known, after), code[1]


def _kept(value: Any) -> Any:
    return value.copy(deep=False) if isinstance(value, (pd.DataFrame, pd.Series)) else value


def _equal(one: Any, other: Any) -> bool:
    return bool(one.equals(other)) if isinstance(one, (pd.DataFrame, pd.Series)) else one is other


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
        cases = {
            "join": lambda: events.merge(customers, on="customer"),
            "unit": lambda: events.assign(price=events.price * 100),
            "filter": lambda: events[events.price > 50],
            "sort": lambda: events.sort_values("price"),
            "twice": lambda: pd.concat([events, events.head(1000)], ignore_index=True),
            "summary": lambda: events.groupby("customer", as_index=False).price.sum(),
        }
        for name, step in cases.items():
            after = step()
            times = []
            for _ in range(3):
                gc.collect()
                begun = time.perf_counter()
                checks = agentnb.compare(
                    {"events": events, "customers": customers}, {"events": after, "customers": customers}
                )
                times.append(time.perf_counter() - begun)
            slowest = max(slowest, min(times) / limit)
            print(f"{rows:>11,} rows, {name:8} {min(times) * 1000:6.0f} ms (at most {limit * 1000:.0f})  {checks}")
            del after
    return 0 if slowest <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
