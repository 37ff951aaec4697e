"""Tables of made-up domains, random for each case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Domain:
    """The names of one domain: a table of events, one of their subjects, and one of groups."""

    events: str
    event_id: str
    time: str
    amount: str
    number: str
    group: str
    groups: tuple[str, ...]
    things: str
    thing_id: str
    thing_name: str
    label: str
    labels: tuple[str, ...]
    rate: str


DEVELOPED = (
    Domain(
        *("orders", "order_id", "ordered_at", "price", "quantity", "region"),
        ("north", "south", "east", "west", "centre", "islands"),
        *("customers", "customer_id", "name", "segment"),
        ("home", "office", "public", "school"),
        "discount",
    ),
    Domain(
        *("readings", "reading_id", "taken_at", "temperature", "pulses", "site"),
        ("roof", "cellar", "yard", "hall", "mast"),
        *("sensors", "sensor_id", "model", "maker"),
        ("Acme", "Bolt", "Coil"),
        "gain",
    ),
)
"""The domains that the checks were developed with."""
HELD_OUT = (
    Domain(
        *("visits", "visit_no", "admitted", "charge", "nights", "ward"),
        ("A1", "A2", "B1", "B2", "C1", "C2", "D1"),
        *("patients", "patient", "surname", "insurer"),
        ("state", "private", "none", "abroad"),
        "copay",
    ),
    Domain(
        *("trades", "trade", "settled", "notional", "lots", "venue"),
        ("XLON", "XPAR", "XNYS", "XTKS"),
        *("instruments", "isin", "issuer", "sector"),
        ("energy", "banks", "chips", "retail", "air"),
        "fee",
    ),
    Domain(
        *("trips", "trip", "started", "fare", "riders", "borough"),
        ("Bronx", "Kings", "Queens", "Richmond", "Harlem"),
        *("drivers", "licence", "driver", "fleet"),
        ("green", "yellow", "black"),
        "tip_share",
    ),
)
"""The domains for measurement only."""


def tables_of(domain: Domain, rng: np.random.Generator) -> dict[str, Any]:
    things, rows = int(rng.integers(40, 400)), int(rng.integers(600, 6_000))
    texts = bool(rng.integers(0, 2))
    ids: Any = (
        [f"{domain.thing_id[:1].upper()}{number:05}" for number in range(things)] if texts else np.arange(things) + 1000
    )
    thing = pd.DataFrame(
        {
            domain.thing_id: ids,
            domain.thing_name: [
                f"{word}{number}" for number, word in enumerate(rng.choice(["ann", "bo", "cy"], things))
            ],
            domain.label: rng.choice(domain.labels, things),
            domain.rate: rng.uniform(0, 0.3, things).round(3),
        }
    )
    start = np.datetime64("2023-01-01T00:00:00") + np.timedelta64(int(rng.integers(0, 600)), "D")
    seconds = (
        np.sort(rng.integers(0, 180 * 86_400, rows)) if rng.integers(0, 2) else rng.integers(0, 180 * 86_400, rows)
    )
    event = pd.DataFrame(
        {
            domain.event_id: np.arange(rows) + int(rng.integers(1, 9)) * 10_000,
            domain.thing_id: rng.choice(np.asarray(ids, dtype=object if texts else None), rows),
            domain.time: start + seconds.astype("timedelta64[s]"),
            domain.amount: rng.lognormal(3, 0.6, rows).round(2),
            domain.number: rng.integers(1, 30, rows),
            domain.group: rng.choice(domain.groups, rows),
        }
    )
    if texts:
        event[domain.thing_id] = event[domain.thing_id].astype(str)
    group = pd.DataFrame({domain.group: list(domain.groups), "head": [f"head of {each}" for each in domain.groups]})
    return {domain.events: event, domain.things: thing, "groups": group}


def names_of(domain: Domain) -> dict[str, str]:
    """Returns the names in the steps' templates."""
    return {
        "E": domain.events,
        "T": domain.things,
        "id": domain.event_id,
        "t": domain.time,
        "a": domain.amount,
        "n": domain.number,
        "g": domain.group,
        "k": domain.thing_id,
        "name": domain.thing_name,
        "label": domain.label,
        "r": domain.rate,
        "g0": domain.groups[0],
        "g1": domain.groups[1],
        "l0": domain.labels[0],
    }
