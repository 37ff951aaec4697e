"""Paths into variables only read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentnb.errors import UsageError
from agentnb.kernel.variables.summary import LONGEST_PATH, follow, last_name

CALLED: list[str] = []
NAMES: dict[str, Any] = {
    "runs": [{"loss": 0.5}, {"loss": 0.25}],
    "grid": {(1, 2): "here"},
    "fit": SimpleNamespace(rows=[1, 2, 3], _hidden=1),
    "boom": CALLED.append,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ('runs[-1]["loss"]', 0.25),
        ("runs[0]", {"loss": 0.5}),
        ("fit.rows[1:]", [2, 3]),
        ("fit.rows[::2]", [1, 3]),
        ("grid[1, 2]", "here"),
        (" fit.rows ", [1, 2, 3]),
    ],
)
def test_names_attributes_items_and_slices_are_followed(path: str, value: Any) -> None:
    assert follow(path, NAMES) == value


@pytest.mark.parametrize(
    "path",
    [
        "boom('x')",
        "runs[len(runs)]",
        "fit.rows[boom('x')]",
        "runs + runs",
        "[each for each in runs]",
        "(lambda: 1)",
        "(x := 1)",
        "await runs",
        "f'{boom(1)}'",
        "runs[0] if runs else 1",
        "1",
        "",
        "runs[",
        "import os",
        "a" * (LONGEST_PATH + 1),
        "(" * 400,
    ],
)
def test_path_that_does_more_than_read_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match=r"not a path to a variable|does more than read|has at most"):
        follow(path, NAMES)
    assert CALLED == []


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone", "There is no variable 'gone'"),
        ("fit._hidden", "'_hidden' is private"),
        ("fit.__class__", "'__class__' is private"),
        ("fit.cols", r"fit.cols cannot be read: AttributeError"),
        ("runs[7]", r"runs\[7\] cannot be read: IndexError"),
    ],
)
def test_unreadable_path_is_reported(path: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        follow(path, NAMES)


@pytest.mark.parametrize(
    ("path", "name"), [("api_key", "api_key"), ('conf["token"]', "token"), ("s.secret[0]", "secret"), ("x[1:2]", "x")]
)
def test_the_last_name_of_a_path_is_found(path: str, name: str) -> None:
    assert last_name(path) == name
