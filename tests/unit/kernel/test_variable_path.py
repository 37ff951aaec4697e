"""The paths of `inspect` only read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.kernel.shell_tools import Tools

PRIVATE = "the value is not shown because the name looks like a secret's."
CASES = {
    'runs[-1]["loss"]': "float\n0.25",
    "runs[0]": "dict, length 1\n{'loss': 0.5}",
    "fit.rows[1:]": "list, length 2\n[2, 3]",
    "fit.rows[::2]": "list, length 2\n[1, 3]",
    "grid[1, 2]": "str, length 4\nhere",
    " fit.rows ": "list, length 3\n[1, 2, 3]",
    "api_key": PRIVATE,
    'runs[1]["token"]': PRIVATE,
    "fit.secret[0]": PRIVATE,
    "gone": "There is no variable 'gone'",
    "fit._hidden": "'_hidden' is private",
    "fit.__class__": "'__class__' is private",
    "fit.cols": "fit.cols cannot be read: AttributeError",
    "runs[7]": "runs[7] cannot be read: IndexError",
}
REFUSED = [
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
    "runs[",
    "import os",
    "a" * 2_000,
    "(" * 400,
]


@pytest.fixture
def called(tools: Tools) -> list[Any]:
    """The calls of ``boom`` in a shell with some variables."""
    calls: list[Any] = []
    tools.shell.user_ns.update(
        runs=[{"loss": 0.5}, {"loss": 0.25, "token": "hush"}],
        grid={(1, 2): "here"},
        fit=SimpleNamespace(rows=[1, 2, 3], _hidden=1, secret=["hush"]),
        boom=calls.append,
        api_key="hush",
    )
    return calls


@pytest.mark.parametrize("path", CASES)
def test_inspect_follows_names_attributes_items_and_slices(tools: Tools, called: list[Any], path: str) -> None:
    """The last name decides if the value is a secret; an unreadable path is reported."""
    text = tools.text("inspect", path=path)
    assert CASES[path] in text
    assert "hush" not in text


@pytest.mark.parametrize("path", REFUSED)
def test_path_that_does_more_than_read_is_refused(tools: Tools, called: list[Any], path: str) -> None:
    result = tools.call("inspect", path=path)
    words = ("not a path to a variable", "does more than read", "has at most")
    assert result["isError"]
    assert any(each in result["content"][0]["text"] for each in words), result
    assert called == []
