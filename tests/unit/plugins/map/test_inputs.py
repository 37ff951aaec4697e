"""Inputs become prompts: fields, braces, and accepted types.

The inside: generated values, and containers of many kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agentnb
from agentnb.errors import UsageError
from agentnb.plugins.map.inputs import input_prompts

TABLE = pd.DataFrame({"text": ["a", None], "my column": [1.5, float("nan")]}, index=["x", "y"])


class Counted:
    """Imitates tqdm around a generator: it has a length and is iterated once."""

    def __init__(self, rows: Iterator[Any], total: int) -> None:
        self.rows, self.total = rows, total

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[Any]:
        yield from self.rows


@pytest.mark.parametrize(
    ("prompt", "inputs", "expected"),
    [
        ("Say {input}", ["a", 1], [(0, "Say a"), (1, "Say 1")]),
        ("Say {input}", ("a",), [(0, "Say a")]),
        ("Say {input}", {"k": "a"}, [("k", "Say a")]),
        ("Say {a} {b}", [{"a": 1, "b": 2}], [(0, "Say 1 2")]),
        ("Say {a}", {"k": {"a": 1}}, [("k", "Say 1")]),
        ("Say {text}/{my column}", TABLE, [("x", "Say a/1.5"), ("y", "Say /")]),
        ("Say {input}", TABLE["text"], [("x", "Say a"), ("y", "Say ")]),
        ('{{"a": {input}}} {"b": 1} {}', [1], [(0, '{"a": 1} {"b": 1} {}')]),
        ("Say {input}", (each for each in "ab"), [(0, "Say a"), (1, "Say b")]),
        ("Say {input}", Counted(iter("ab"), 2), [(0, "Say a"), (1, "Say b")]),
        (lambda row: f"<{row}>", ["a"], [(0, "<a>")]),
        (lambda row: (f"<{row}>", ["context"]), ["a"], [(0, "<a>")]),
    ],
)
def test_inputs_become_prompts_with_their_labels(prompt: Any, inputs: Any, expected: list[tuple[Any, str]]) -> None:
    """The container does not matter, nor that some can be iterated only once; missing values are empty."""
    assert [(each.label, each.text) for each in input_prompts(prompt, inputs)] == expected


@pytest.mark.parametrize(
    ("prompt", "inputs", "message"),
    [
        ("Say something", ["a"], "has no field"),
        ("Say {text}", ["a"], r"has no 'text'. It has input"),
        ("Say {colour}", TABLE, r"has no 'colour'. It has text, my column"),
        ("Say {input}", "one text", "The inputs are a single string"),
        ("Say {input}", 5, "which has no elements"),
        (lambda _: " ", ["a"], "The prompt of input 0 is an empty text"),
        (lambda _: 5, ["a"], "The prompt of input 0 is int"),
    ],
)
def test_invalid_prompts_and_inputs_are_reported(prompt: Any, inputs: Any, message: str) -> None:
    """The error names the existing fields; the call raises it unless only the rows can show it."""
    with pytest.raises(UsageError, match=message):
        list(input_prompts(prompt, inputs))
    if not callable(prompt):
        with pytest.raises(UsageError, match=message):
            agentnb.map(prompt, inputs)


@given(st.text(), st.text(alphabet="{}ab\n"))
def test_prompt_contains_input_values_unchanged(value: str, around: str) -> None:
    """Braces in a value are not fields, and braces without a name stay."""
    before, after = around.replace("{", "{{").replace("}", "}}"), "."
    made = next(input_prompts(f"{before}<{{input}}>{after}", [value])).text
    assert made == f"{around}<{value}>."
