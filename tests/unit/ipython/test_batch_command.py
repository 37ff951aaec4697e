"""``%%agent map``: the cell is the template, a variable has the inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agentnb.errors import UsageError
from agentnb.ipython.arguments import parse
from agentnb.ipython.config import Agentnb
from agentnb.plugins.map.plugin import batch_of


def batch(line: str, cell: str, **variables: Any) -> Any:
    """Returns what the magic starts in a shell with these variables."""
    return batch_of(parse(line, cell), SimpleNamespace(user_ns=variables), Agentnb(agent="eliza"))


def test_batch_sends_a_prompt_for_each_row_of_a_variable() -> None:
    """The options come before ``map``, as for every prompt."""
    begun = batch("-o answers map rows", "/say {a} and {b}\n", rows=[{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    assert list(begun) == ["1 and 2", "3 and 4"]


@pytest.mark.parametrize(
    ("line", "cell"), [("map the data", "of df"), ("map", "df"), ("map df", ""), ("a map df", "b")]
)
def test_prompt_that_only_begins_with_map_is_not_a_batch(line: str, cell: str) -> None:
    """The line is more than a variable's name, or the cell is empty."""
    assert batch(line, cell, df=[1], data=[1]) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("map nothing", "There is no variable 'nothing'"),
        ("-t work map df", "takes no -t"),
        ("-k map df", "takes no -k"),
        ("map df", "has no field"),
    ],
)
def test_invalid_batch_raises_an_error(line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        batch(line, "a prompt", df=["a"]).wait()
