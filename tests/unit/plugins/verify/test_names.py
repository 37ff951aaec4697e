"""The fast check: names that cells use and define, read without running anything."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import agentnb
from tests.unit.forked import run_script
from tests.unit.plugins.verify.notebooks import Json, cell, notebook, ran, saved

FINE = {
    "builtins and IPython's names": ["print(len(In), Out, _, _1, __name__)", "display(get_ipython())"],
    "comprehensions": ["xs = [1]", "[a * b for a in xs for b in range(a) if b]", "{k: v for k, v in {}.items()}"],
    "walrus": ["if (n := 3) > 2:\n    print(n)", "[y := 1, y ** 2]", "print([last := x for x in (1, 2)], last)"],
    "f-strings": ["w = 3", "f'{w!r:>{w}}'"],
    "functions use what comes later": ["def f():\n    return g()", "def g():\n    return 1", "f()"],
    "recursion": ["def f(n):\n    return f(n - 1) if n else 0", "f(3)"],
    "class bodies": ["class A:\n    k = 1\n    m = k + 1\n    def f(self):\n        return self.k", "A().f()"],
    "decorators and async": ["import asyncio", "async def f():\n    await asyncio.sleep(0)", "await f()"],
    "global": ["def f():\n    global made\n    made = 1", "f()", "made"],
    "try": ["try:\n    import json5 as j\nexcept ImportError:\n    j = None", "j"],
    "a name that is tested for": ["try:\n    cached\nexcept NameError:\n    cached = 1", "cached"],
    "magics": ["%matplotlib inline\n!ls -l {x}\nout = !ls", "%%bash\necho $y", "%time z = 1", "z, out"],
    "capture": ["%%capture kept\nprint(1)", "kept"],
    "annotations": ["from typing import Any\nx: Any = 1\ny: int", "def f(a: 'T') -> None: ...\nx"],
    "match": ["match {'a': 1}:\n    case {'a': n, **rest}:\n        print(n, rest)"],
    "with, for, lambda": ["with open('f') as f, f:\n    pass", "for i in range(3): pass\nprint(i, (lambda q: q)(1))"],
    "in a branch that may not run": ["import sys", "if sys.platform == 'none':\n    print(only_there)"],
    "del of part": ["d = {1: 2}", "del d[1]", "d"],
    "help and shell": ["d = 1\nd?", "!!ls", "?d"],
}


@pytest.mark.parametrize("sources", FINE.values(), ids=FINE)
def test_check_names_finds_nothing_in_valid_cells(sources: list[str]) -> None:
    assert check(*ran(*sources)).ok


FAULTS: dict[str, tuple[list[Json], str, str]] = {
    "never defined": ([cell("print(z)")], "undefined-name", "c0"),
    "deleted": ([*ran("x = 1"), cell("print(zeta)", 4)], "deleted-cell", "c1"),
    "renamed": ([*ran("rate_new = 1", "print(rate)")], "changed-cell", "c1"),
    "order": (ran("print(x)", "x = 1"), "cell-order", "c0"),
    "order in a function": (ran("def f():\n    return g()", "f()", "def g(): pass"), "cell-order", "c1"),
    "deleted by del": (ran("x = 1", "del x", "print(x)"), "undefined-name", "c2"),
    "in a class body": ([cell("class A:\n    k = unknown")], "undefined-name", "c0"),
    "as a decorator": ([cell("@unknown\ndef f(): pass")], "undefined-name", "c0"),
    "as a default": ([cell("def f(a=unknown): pass")], "undefined-name", "c0"),
    "in a comprehension": ([cell("[unknown for _ in range(2)]")], "undefined-name", "c0"),
    "augmented": ([cell("n += 1")], "undefined-name", "c0"),
    "never run": ([*ran("x = 1"), cell("x + 1")], "not-run", "c1"),
    "syntax": ([cell("if x\n    print(1)")], "syntax", "c0"),
}


@pytest.mark.parametrize(("cells", "kind", "where"), FAULTS.values(), ids=FAULTS)
def test_check_names_finds_the_kind_and_cell_of_a_fault(cells: list[Json], kind: str, where: str) -> None:
    (finding,) = check(*cells).findings
    assert (finding.kind, finding.cell and finding.cell.id) == (kind, where)


@pytest.mark.parametrize(
    "source", ["from os.path import *", "exec(text)", "%run script.py", "globals()['x'] = 1", "%load_ext sql"]
)
def test_check_names_reports_unknown_names_after_dynamic_code(source: str) -> None:
    result = check(*ran("text = 'x = 1'", source, "print(somewhere)"))
    assert result.ok
    assert any("`somewhere` in cell [3]" in each and "may define any name" in each for each in result.not_checked)


OWN = """
import os, sys
from IPython.core.interactiveshell import InteractiveShell
import agentnb
os.environ["JPY_SESSION_NAME"] = os.path.abspath("nb.ipynb")
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "agentnb")
for source in sys.argv[1:]:
    shell.run_cell(source, store_history=True)
shell.user_ns["kept"] = shell.user_ns.pop("gone") + shell.user_ns.pop("old")
for each in agentnb.verify(run=False).findings:
    print(each.kind, each.cause)
"""


def test_check_names_uses_kernel_history_to_find_changed_cells(tmp_path: Path) -> None:
    """The notebook is that of the kernel."""
    cells = [cell("new = 2", 2), cell("gone", 4), cell("old", 5), cell("kept", 6)]
    saved(tmp_path, notebook(*cells))
    done = run_script(OWN, "gone = 1", "old = 2", "gone + old", cwd=tmp_path)
    changed, deleted, renamed, kept = done.stdout.splitlines()[-4:]
    assert changed.startswith("changed-cell Cell [2] has been changed since it was run"), done.stderr
    assert deleted == "deleted-cell Cell [4] would fail: `gone` is defined only in a deleted cell (run as [1])."
    assert renamed.startswith("changed-cell ")
    assert kept.endswith("`kept` is in the kernel, and no cell defines it.")


def test_static_check_of_200_cells_is_fast(tmp_path: Path) -> None:
    """Processor time of the fastest of five runs counts: the machine may be busy."""
    taken, compiled = [], []
    for run in range(5):  # each has other cells: what is known of a cell is kept
        sources = [
            f"def f{i}(a, b={run}):\n    c = a + b\n    for q in range(c):\n        c += q\n    return c\n"
            f"d{i} = [f{i}(k) for k in range(10) if k % 2]\nprint({{'a': d{i}, 'b': sum(d{i})}}, len(d{i}))"
            for i in range(200)
        ]
        content = notebook(*ran(*sources))
        begun = time.thread_time()
        result = agentnb.verify(content, run=False, cwd=tmp_path)
        ended = time.thread_time()
        for source in sources:
            compile(source, "<cell>", "exec")
        compiled.append(time.thread_time() - ended)
        taken.append(ended - begun)
        assert result.ok
        assert result.runs == 0
    assert min(taken) < 8 * min(compiled)


def check(*cells: Json) -> agentnb.Verification:
    return agentnb.verify(notebook(*cells), run=False)
