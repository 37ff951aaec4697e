"""The metric's objects are found and hashed by content.

The inside: a loop in a kernel shows only a few kinds of values.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import agentnb
from agentnb.plugins.loop.digests import digest_of, digest_of_file
from agentnb.plugins.loop.judge import Metric

NOTEBOOK = """
import statistics
import numpy as np
truth = np.array([1, 2])
labels = ["a", "b"]
path = "test.csv"
errors = [1, 2, 3]
limit = 3
def helper(values): return [each for each in values if each < limit]
class Scorer:
    def __call__(self): return helper(labels)
def score(model): return statistics.mean(map(lambda each: each in truth, helper(model.predict(open(path)))))
class Model: pass
model = Model()
"""


def names() -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(NOTEBOOK, space)  # noqa: S102 - as a notebook's cell
    return space


@pytest.mark.parametrize(
    ("metric", "held"),
    [
        ("score(model)", ["score", "helper", "limit", "truth", "path", "test.csv"]),
        ("len(errors)", []),
        ("Scorer()()", ["Scorer", "helper", "labels", "limit"]),
        ("statistics.mean(truth)", ["truth"]),
        ("open('test.csv').read()", ["test.csv"]),
    ],
)
def test_metric_holds_the_objects_that_it_reads(tmp_path: Path, metric: str, held: list[str]) -> None:
    """Functions, tables, arrays, files and plain values that functions read; models and plain values are not held."""
    (tmp_path / "test.csv").write_text("1")
    assert sorted(Metric(metric, names(), tmp_path, None).held.names) == sorted(held)


def test_only_equal_values_have_the_same_hash() -> None:
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", None], "z": pd.Categorical(["u", "v"])}, index=[3, 4])
    others = [
        frame.assign(x=[1, 3]),
        frame.assign(x=[1.0, 2.0]),
        frame.rename(columns={"x": "w"}),
        frame.reset_index(drop=True),
        frame[::-1],
        frame["x"],
        frame["x"].to_numpy(),
        frame["x"].to_numpy().reshape(1, 2),
        [1, 2],
        (1, 2),
        {1, 2},
        {"x": [1, 2]},
        np.array([1, 2], dtype=object),
        pd.Series(pd.to_datetime(["2027-01-01", "2027-01-02"])),
        None,
        1,
        True,
        "1",
        b"1",
    ]
    hashes = [digest_of(each) for each in (frame, *others)]
    assert len(set(hashes)) == len(hashes)
    assert digest_of(frame.copy()) == hashes[0]
    assert digest_of(pd.read_json(pd.io.common.StringIO("[1, 2]"), typ="series")) == digest_of(pd.Series([1, 2]))
    cycle: list[Any] = [1]
    cycle.append(cycle)
    assert digest_of(cycle) != digest_of([1, [1]])


def test_hash_of_a_function_depends_only_on_its_code() -> None:
    def defined(text: str) -> Any:
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(text, space)  # noqa: S102 - as a notebook's cell
        return space["f"]

    same = digest_of(defined("def f(a, b=1): return a + b"))
    assert digest_of(defined("\n\n\ndef f(a, b=1):\n    return a + b")) == same
    for other in ("def f(a, b=2): return a + b", "def f(a, b=1): return a - b", "def f(a, b=1): return a + c"):
        assert digest_of(defined(other)) != same
    assert digest_of(statistics.mean) != digest_of(statistics.median)


def test_hash_of_a_folder_changes_with_its_contents(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.csv").write_text("1")
    before = digest_of_file(tmp_path / "data")
    assert digest_of_file(tmp_path / "gone") == ""
    (tmp_path / "data/b.csv").write_text("2")
    assert digest_of_file(tmp_path / "data") != before


def test_value_that_cannot_be_hashed_raises_an_error() -> None:
    with pytest.raises(agentnb.UsageError, match="A generator cannot be hashed"):
        digest_of(each for each in [1])
