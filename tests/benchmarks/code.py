"""Looking up where a name is defined in a notebook of 500 cells."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from agentnb.plugins.knowledge.code.notebook_module import CodeCell
from agentnb.plugins.knowledge.code.records import CodePlace
from agentnb.plugins.knowledge.code.service import CodeService
from tests.benchmarks.row import Row

CELLS = 500
ASKED = 200
LIMIT_MS = 100.0
_SOURCE = """\
import json
def f{n}(x, y=2):
    '''Number {n}.'''
    return x + y

class K{n}:
    def m(self):
        return f{n}(1)
v{n} = K{n}().m()
print(v{n}, f{before}(2), json.dumps(v{n}))"""


def measure() -> list[Row]:
    """The row of ``make bench``."""
    cells = [
        CodeCell(cell_id=str(n), source=_SOURCE.format(n=n, before=max(0, n - 3)), count=n + 1) for n in range(CELLS)
    ]
    chosen = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        service = CodeService(Path(folder), cells=lambda: cells)
        service.definition(CodePlace(cell_id="0", symbol="f0"))
        taken = []
        for _ in range(ASKED):
            n = chosen.randrange(3, CELLS)
            symbol = chosen.choice([f"f{n - 3}", f"K{n}", "json.dumps"])
            begun = time.perf_counter()
            found = service.definition(CodePlace(cell_id=str(n), symbol=symbol))
            taken.append((time.perf_counter() - begun) * 1000)
            assert [each.name for each in found] == [symbol.removeprefix("json.")]
    taken.sort()
    return [
        Row(
            what=f"a definition in a notebook of {CELLS} cells, p95",
            value=taken[int(ASKED * 0.95)],
            unit="ms",
            at_most=LIMIT_MS,
        )
    ]
