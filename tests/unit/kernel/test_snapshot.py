"""Snapshots of the user's objects before an agent's code runs: bad input, and losses that are announced."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from agentnb.kernel.variables.keeper import Keeper
from agentnb.kernel.variables.kinds import Reach
from agentnb.kernel.variables.references import LIMIT
from agentnb.kernel.variables.snapshot import VariableSnapshot
from tests.unit.kernel.shell_tools import Tools
from tests.unit.kernel.test_variable_changes import turn, undo
from tests.unit.kernel.values import value_of

HOSTILE = """
class Hostile:
    def __getattribute__(self, name): raise RuntimeError(name)
    def __eq__(self, other): raise RuntimeError
    def __hash__(self): return 1
    def __copy__(self): raise RuntimeError
    __deepcopy__ = __reduce__ = __reduce_ex__ = __getstate__ = __repr__ = __len__ = __iter__ = __copy__
    def __bool__(self): raise RuntimeError
class Hanging(list):
    def __iter__(self):
        while True: pass
    __eq__ = __len__ = __copy__ = __reduce_ex__ = __repr__ = __iter__
class Lying(dict):
    def __len__(self): return 0
    def keys(self): return []
    items = values = copy = __iter__ = keys
    def __eq__(self, other): return True
a, b, c = Hostile(), Hostile(), Hanging([1])
x = {'lying': Lying(k=1), 'hanging': c, a: [b], 'set': {a}}
"""


def keep(*values: Any, limit: int = LIMIT) -> VariableSnapshot:
    names = {f"x{number}": value for number, value in enumerate(values)}
    return Keeper(names, limit, seconds=60).keep(names)


def test_snapshot_ignores_methods_that_raise_hang_or_lie(tools: Tools) -> None:
    tools.shell.run_cell(HOSTILE)
    x = tools.shell.user_ns["x"]
    lying, keys = x["lying"], [*dict.keys(x)]
    change = """
dict.__setitem__(x['lying'], 'k', 2)
list.append(c, 2)
x.popitem()
x[a].append(1)
object.__setattr__(b, 'more', 1)
"""
    assert turn(tools, change).keys() >= {"x", "c"}
    undo(tools, "x", "c")
    assert ([*dict.items(lying)], list.__getitem__(x["hanging"], slice(None))) == ([("k", 1)], [1])
    assert [*map(id, dict.keys(x))] == [*map(id, keys)]
    assert object.__getattribute__(tools.shell.user_ns["b"], "__dict__") == {}


def test_frame_is_restored_after_a_write_to_its_extension_array(tools: Tools) -> None:
    """A write to ``Series.array`` bypasses Copy-on-Write."""
    tools.shell.run_cell("import pandas as pd\nx = pd.DataFrame({'t': ['a', 'b']})")
    x = tools.shell.user_ns["x"]
    before = value_of(x)
    if "x" in turn(tools, "x['t'].array[0] = 'z'"):
        undo(tools, "x")
    assert value_of(x) == before


ARRAYS = {
    "views of views": ("x = np.arange(20.0)\nv = x[2:18][::-2]\nw = v.reshape(2, 4).T", "w[1] = -1"),
    "of a foreign buffer": ("data = bytearray(16)\nx = np.frombuffer(data, dtype='int32')", "x[1] = 5"),
    "without elements": ("x = np.zeros((0, 3))", "x = x.reshape(3, 0)"),
    "without a dimension": ("x = np.array(5.0)", "x[...] = 1"),
    "texts of any length": ("x = np.array(['a', 'bb'], dtype=np.dtypes.StringDType())", "x[0] = 'long' * 20"),
    "records": ("x = np.rec.array([(1, b'a')], dtype=[('n', 'i4'), ('t', 'S9')])", "x.n = 7"),
    "masked": ("x = np.ma.masked_greater(np.arange(5), 3)", "x.mask[0] = True\nx[1] = 9"),
    "in a file": (
        "import tempfile\nf = tempfile.NamedTemporaryFile()\nx = np.memmap(f.name, dtype='u1', mode='w+', shape=(8,))",
        "x[:] = 3\nx.flush()",
    ),
    "in columns": ("x = np.zeros((30, 40), order='F')[::2, ::3]", "x[3] = 1"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_undo_restores_arrays_of_any_form(tools: Tools, case: str) -> None:
    before, code = ARRAYS[case]
    tools.shell.run_cell(f"import numpy as np\n{before}")
    names = [name for name in "xvw" if name in tools.shell.user_ns]
    was = {name: value_of(tools.shell.user_ns[name]) for name in names}
    changes = turn(tools, code)
    assert {name: value_of(tools.shell.user_ns[name]) for name in names} != was
    undo(tools, *changes)
    assert {name: value_of(tools.shell.user_ns[name]) for name in names} == was


def test_snapshot_handles_recursive_and_deep_structures() -> None:
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    around: list[Any] = []
    around.append({"a": (around,)})
    snapshot = keep(deep, around)
    assert snapshot.lost == {}
    around[0]["b"] = 1
    (changed,) = snapshot.changed()
    changed.state.restore(changed.follow())
    assert (snapshot.changed(), [*around[0]]) == ([], ["a"])


def test_snapshot_of_ten_thousand_names_is_fast() -> None:
    """The time is bounded if code may reach any name, and near zero if it reaches one."""
    names = {f"n{number}": [number] for number in range(10_000)}
    began = time.thread_time()
    snapshot = Keeper(names, LIMIT).keep(Reach("n5.append(1)").of(names))
    assert (time.thread_time() - began < 0.02, [*snapshot.names]) == (True, ["n5"])
    began = time.thread_time()
    snapshot = Keeper({name: [[]] * 9 + [object()] for name in names}, LIMIT).keep(Reach("globals()").of(names))
    assert time.thread_time() - began < 3


def test_too_large_object_is_not_kept_but_its_change_is_seen() -> None:
    numpy = pytest.importorskip("numpy")
    large, small = numpy.zeros(3_000_000), numpy.zeros(3)
    snapshot = keep(small, large, limit=1_000_000)
    assert snapshot.lost == {"x1": "it is too large"}
    large[:] = 1
    assert [each.follow() is large for each in snapshot.changed()] == [True]


def test_frame_written_by_another_thread_does_not_break_undo(tools: Tools) -> None:
    """Nothing raises, and the code's own change is undone unless another one is in the way."""
    tools.shell.run_cell("import pandas as pd\nx = pd.DataFrame({'a': range(1000)})\nown = [1]")
    x, stop = tools.shell.user_ns["x"], threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            x[f"n{number % 5}"] = number

    thread = threading.Thread(target=write)
    thread.start()
    try:
        changes = turn(tools, "own.append(2)\nx.shape")
    finally:
        stop.set()
        thread.join()
    assert "own" in changes
    undo(tools, "own")
    assert tools.shell.user_ns["own"] == [1]


LOST = {
    "generator": "x = (i for i in [1])",
    "file": "x = open('/dev/null')",
    "thread": "import threading\nx = threading.Thread()",
    "iterator": "x = iter([1])",
    "connection": "import sqlite3\nx = sqlite3.connect(':memory:')",
    "inside": "class Run: pass\nx = Run()\nx.log = [open('/dev/null')]",
    "socket": "import socket\nx = socket.socket()",
}


@pytest.mark.parametrize("case", LOST)
def test_objects_that_cannot_be_kept_are_announced_beforehand(tools: Tools, case: str) -> None:
    namespace = tools.runner.namespace
    tools.shell.run_cell(f"{LOST[case]}\nother = (i for i in [1])\ndef use(): return x")
    assert namespace.unrestorable("print(x)", LIMIT) == ("x",)
    assert namespace.unrestorable("y = use()", LIMIT) == ("x",)
    assert namespace.unrestorable("x = 1\nx += 1\nprint('x')", LIMIT) == ()
    assert set(namespace.unrestorable("exec('x')", LIMIT)) == {"x", "other"}
    assert set(namespace.unrestorable("%time next(x)", LIMIT)) == {"x", "other"}


def test_partly_lost_object_says_what_undo_cannot_restore(tools: Tools) -> None:
    tools.shell.run_cell("x = {'n': 1, 'gen': (i for i in [1, 2])}")
    change = turn(tools, "x['n'] = next(x['gen']) + 5")["x"]
    assert change.reason == "In part: generator in it can't be restored."
    undo(tools, "x")
    assert tools.shell.user_ns["x"]["n"] == 1
