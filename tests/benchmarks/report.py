"""Writes ``docs/explanation/benchmarks.md`` from the rows of a run."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import agentnb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.benchmarks.row import Row

HEAD = """\
# Benchmarks

<!-- Written by `make bench` from its run: do not edit. -->

Measured on {date} with agentnb {version} on {machine}; the load was {before} when the run began and {after} at its end
(1 for each core is a busy machine). Compare numbers within one run: another machine gives others. *Beside* is what the
number is compared with in the same run; *limit* is what `make bench` requires on an idle machine. Limits of times were
set on one machine: on a slower one compare with an earlier version, measured there on the same day.
"""


def report(groups: Mapping[str, Sequence[Row]], before: float, left_out: Sequence[str] = ()) -> str:
    """Returns the page: each benchmark's rows under the first line of its docstring.

    Args:
        groups: The rows, by that line.
        before: The machine's load when the run began.
        left_out: The names of the benchmarks that did not run.
    """
    head = HEAD.format(
        date=datetime.now(timezone.utc).date().isoformat(),
        version=agentnb.__version__,
        machine=machine(),
        before=f"{before:.1f}",
        after=f"{os.getloadavg()[0]:.1f}",
    )
    rest = [f"Not in this run: {', '.join(left_out)}.\n"] if left_out else []
    return "\n".join([head, *rest, *(section(title, rows) for title, rows in groups.items())])


def section(title: str, rows: Sequence[Row]) -> str:
    title = title.replace("``", "`")
    lines = [f"## {title}", "", "| what | measured | beside | ratio | limit | |", "|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row.columns()) + " |" for row in rows]
    return "\n".join([*lines, ""])


def machine() -> str:
    """Returns the machine's class, not its name: cores, memory, system, Python."""
    memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    system = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return f"{os.cpu_count()} cores ({platform.machine()}), {memory} GB, {system}, Python {platform.python_version()}"
