"""Data sets and arrays of xarray that change in place: undone in the object, or announced on the card."""

from __future__ import annotations

from typing import Any

import pytest

from agentnb.kernel.variables.references import LIMIT
from tests.unit.kernel.shell_tools import Tools
from tests.unit.kernel.test_variable_changes import redo, turn, undo

SETUP = """import numpy as np, pandas as pd, xarray as xr
times = pd.date_range("2024", periods=4)
x = xr.Dataset(
    {"t": (("time", "place"), np.arange(12.0).reshape(4, 3)), "n": ("place", [1, 2, 3])},
    coords={"time": times, "place": ["a", "b", "c"]}, attrs={"source": ["model"]},
)
y = x["t"]"""
CHANGES = {
    "a new variable": "x['double'] = x['t'] * 2",
    "a variable goes": "del x['n']",
    "values by position": "x['t'][dict(time=0)] = -1",
    "values by label": "x['t'].loc['2024-01-02', 'b'] = 99",
    "values of the array": "x['t'].values[1] = 7",
    "values of the array in the variable": "y *= 100",
    "a coordinate": "x.coords['month'] = ('time', [1, 1, 1, 1])",
    "another index": "x['place'] = ['p', 'q', 'r']",
    "attributes": "x.attrs['source'].append('mine')\nx['t'].attrs['unit'] = 'K'",
    "a name and what an array has for itself": "y.name = 'warm'\ny.attrs['long_name'] = 'warmth'",
    "several at once": "x.update({'n': ('place', [0, 0, 0]), 'm': 5})",
    "its encoding": "x['t'].encoding['dtype'] = 'f4'",
}


@pytest.mark.parametrize("case", CHANGES)
def test_xarray_changes_in_place_are_undone_and_redone(tools: Tools, case: str) -> None:
    tools.shell.run_cell(SETUP)
    names = tools.shell.user_ns
    kept = {name: names[name] for name in "xy"}
    before = _described(kept)
    assert tools.runner.namespace.unrestorable(CHANGES[case], LIMIT) == ()
    changes = turn(tools, CHANGES[case])
    after = _described(kept)
    assert after != before
    undo(tools, *changes)
    assert _described(kept) == before
    assert all(names[name] is value for name, value in kept.items())
    redo(tools, *changes)
    assert _described(kept) == after


def test_dataset_with_an_open_file_is_announced_beforehand(tools: Tools) -> None:
    """Its arrays are read from the file on demand."""
    tools.shell.run_cell(f"{SETUP}\nx.attrs['log'] = open('/dev/null')")
    assert tools.runner.namespace.unrestorable("x['t'] = 1", LIMIT) == ("x",)


def _described(values: dict[str, Any]) -> object:
    x, y = values["x"], values["y"]
    encodings = {name: dict(each.encoding) for name, each in x.variables.items()}
    return x.to_dict(), y.to_dict(), [*x.indexes], encodings, str(x), str(y)
