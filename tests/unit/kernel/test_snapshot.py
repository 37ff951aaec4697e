"""Snapshots of the user's objects before an agent's code runs: bad input, and losses that are announced."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tests.unit.kernel.shell_tools import Tools
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
    assert tools.turn(change).keys() >= {"x", "c"}
    tools.undo("x", "c")
    assert ([*dict.items(lying)], list.__getitem__(x["hanging"], slice(None))) == ([("k", 1)], [1])
    assert [*map(id, dict.keys(x))] == [*map(id, keys)]
    assert object.__getattribute__(tools.shell.user_ns["b"], "__dict__") == {}


def test_frame_is_restored_after_a_write_to_its_extension_array(tools: Tools) -> None:
    """A write to ``Series.array`` bypasses Copy-on-Write."""
    tools.shell.run_cell("import pandas as pd\nx = pd.DataFrame({'t': ['a', 'b']})")
    x = tools.shell.user_ns["x"]
    before = value_of(x)
    if "x" in tools.turn("x['t'].array[0] = 'z'"):
        tools.undo("x")
    assert value_of(x) == before


def test_undo_restores_an_array_in_a_file(tools: Tools) -> None:
    tools.shell.run_cell("import tempfile\nimport numpy as np\nf = tempfile.NamedTemporaryFile()")
    tools.shell.run_cell("x = np.memmap(f.name, dtype='u1', mode='w+', shape=(8,))")
    changes = tools.turn("x[:] = 3\nx.flush()")
    assert tools.shell.user_ns["x"].tolist() == [3] * 8
    tools.undo(*changes)
    assert tools.shell.user_ns["x"].tolist() == [0] * 8


def test_snapshot_handles_recursive_and_deep_structures(tools: Tools) -> None:
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    around: list[Any] = []
    around.append({"a": (around,)})
    tools.shell.user_ns.update(deep=deep, around=around)
    assert tools.unrestorable("deep, around") == ()
    assert [*tools.turn("around[0]['b'] = len(deep)")] == ["around"]
    tools.undo("around")
    assert [*around[0]] == ["a"]


def test_code_with_ten_thousand_variables_runs_fast(tools: Tools) -> None:
    """The time is bounded if code may reach any name, and near zero if it reaches one."""
    tools.shell.user_ns.update({f"n{number}": [[]] * 9 + [object()] for number in range(10_000)})
    seconds = []
    for code in ("n5.append(1)", "globals()['n5'].append(1)"):
        began = time.thread_time()
        assert [*tools.turn(code)] == ["n5"]
        seconds.append(time.thread_time() - began)
    assert (seconds[0] < 0.15, seconds[1] < 3) == (True, True), seconds


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
        changes = tools.turn("own.append(2)\nx.shape")
    finally:
        stop.set()
        thread.join()
    assert "own" in changes
    tools.undo("own")
    assert tools.shell.user_ns["own"] == [1]


LOST = {
    "generator": "x = (i for i in [1])",
    "file": "x = open('/dev/null')",
    "thread": "import threading\nx = threading.Thread()",
    "iterator": "x = iter([1])",
    "connection": "import sqlite3\nx = sqlite3.connect(':memory:')",
    "inside": "class Run: pass\nx = Run()\nx.log = [open('/dev/null')]",
    "socket": "import socket\nx = socket.socket()",
    "data set": "import xarray\nx = xarray.Dataset(attrs={'log': open('/dev/null')})",
}


@pytest.mark.parametrize("case", LOST)
def test_objects_that_cannot_be_kept_are_announced_beforehand(tools: Tools, case: str) -> None:
    tools.shell.run_cell(f"{LOST[case]}\nother = (i for i in [1])\ndef use(): return x")
    assert tools.unrestorable("print(x)") == ("x",)
    assert tools.unrestorable("y = use()") == ("x",)
    assert tools.unrestorable("x = 1\nx += 1\nprint('x')") == ()
    assert set(tools.unrestorable("exec('x')")) == {"x", "other"}
    assert set(tools.unrestorable("%time next(x)")) == {"x", "other"}


def test_partly_lost_object_says_what_undo_cannot_restore(tools: Tools) -> None:
    tools.shell.run_cell("x = {'n': 1, 'gen': (i for i in [1, 2])}")
    change = tools.turn("x['n'] = next(x['gen']) + 5")["x"]
    assert change.reason == "In part: generator in it can't be restored."
    tools.undo("x")
    assert tools.shell.user_ns["x"]["n"] == 1
