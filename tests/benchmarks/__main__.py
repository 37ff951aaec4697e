"""Runs every benchmark and prints one table; ``make bench``. Modules beside this one give rows by ``measure()``."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from tests.benchmarks.row import Row


def main() -> int:
    """Print the table; 1 if a limit was not kept."""
    chosen = sys.argv[1:]
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    rows: list[Row] = []
    for name in names:
        module = import_module(f"tests.benchmarks.{name}")
        if hasattr(module, "measure") and (not chosen or name in chosen):
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            rows += module.measure()
    print(table(rows))
    return 1 if any(row.kept is False for row in rows) else 0


def table(rows: list[Row]) -> str:
    """Lay the rows out in columns."""
    head = ("what", "measured", "beside", "ratio", "limit", "")
    lines = [head, *(row.columns() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    texts.insert(1, "  ".join("-" * width for width in widths).rstrip())
    return "\n".join(texts)


if __name__ == "__main__":
    sys.exit(main())
