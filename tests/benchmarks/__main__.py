"""Runs every benchmark and prints one table; ``make bench``. Each module here has rows in ``measure()``.

With ``--page FILE`` before the names of benchmarks it also writes a page of the documentation.
"""

from __future__ import annotations

import os
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from tests.benchmarks.report import report
from tests.benchmarks.row import Row


def main() -> int:
    """Prints the table; returns 1 on failure."""
    chosen = sys.argv[1:]
    page = Path(chosen[1]) if chosen[:1] == ["--page"] else None
    chosen = chosen[2:] if page else chosen
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    groups: dict[str, list[Row]] = {}
    left_out: list[str] = []
    before = os.getloadavg()[0]
    for name in names:
        module = import_module(f"tests.benchmarks.{name}")
        if not hasattr(module, "measure"):
            continue
        if chosen and name not in chosen:
            left_out.append(name)
        else:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            groups[(module.__doc__ or name).partition("\n")[0].rstrip(".")] = module.measure()
    rows = [row for each in groups.values() for row in each]
    print(table(rows))
    if page:
        page.write_text(report(groups, before, left_out), encoding="utf-8")
    return 1 if any(row.kept is False for row in rows) else 0


def table(rows: list[Row]) -> str:
    head = ("what", "measured", "beside", "ratio", "limit", "")
    lines = [head, *(row.columns() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    texts.insert(1, "  ".join("-" * width for width in widths).rstrip())
    return "\n".join(texts)


if __name__ == "__main__":
    sys.exit(main())
