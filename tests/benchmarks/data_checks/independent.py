"""Faults and ordinary steps by someone who has not read the checks: ``independent.txt``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agentnb import DataChecks
from tests.benchmarks.data_checks.corpus import compared
from tests.benchmarks.data_checks.independent_tables import WORLDS

_TABLES = {each.__name__: each for each in WORLDS}


class Step(NamedTuple):
    """A step and its fault; an ordinary step has none."""

    tables: str
    code: str
    before: str = ""
    cause: str = ""
    about: str = ""


class Result(NamedTuple):
    faults: int
    missed: list[tuple[Step, DataChecks]]
    ordinary: int
    alarms: list[tuple[Step, DataChecks]]


def steps() -> list[Step]:
    read: list[Step] = []
    tables = ""
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            tables = line.strip("[]")
        elif line.count(" | ") == 3:
            cause, about, before, code = line.split(" | ")
            read.append(Step(tables, code, before, cause, about))
        else:
            read.append(Step(tables, line))
    return read


def run(seed: int) -> Result:
    result = Result(0, [], 0, [])
    for step in steps():
        tables = {**_TABLES[step.tables](np.random.default_rng(seed)), "pa": pa, "pc": pc}
        checks = compared(tables, step.before, step.code)
        right = [one for one in checks if one.cause == step.cause and step.about in one.text + "".join(one.columns)]
        if step.cause:
            result = result._replace(faults=result.faults + 1)
            if not right:
                result.missed.append((step, checks))
        else:
            result = result._replace(ordinary=result.ordinary + 1)
            if checks:
                result.alarms.append((step, checks))
    return result
