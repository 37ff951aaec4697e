"""Answers are read as the wanted type, whatever text an agent writes around them.

The inside: generated and hostile text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.api.answers import AnswerUnfit, Wanted
from agentnb.plugins.map.asking import plain


@dataclass
class Label:
    label: str
    score: int = 0


class Struct(msgspec.Struct):
    label: str


class Model(pydantic.BaseModel):
    label: str


@pytest.mark.parametrize(
    ("output", "text", "expected"),
    [
        (Label, '{"label": "good", "score": 2}', Label("good", 2)),
        (Label, 'Of course.\n```json\n{"label": "good"}\n```\nAnything else?', Label("good")),
        (Label, 'Not {this} but {"label": "good"}.', Label("good")),
        (Struct, '{"label": "good"}', Struct("good")),
        (Model, '{"label": "good"}', Model(label="good")),
        (list[int], "The numbers: [1, 2]", [1, 2]),
        (Literal["good", "bad"], "good", "good"),
        (Literal["good", "bad"], '"bad"', "bad"),
        (int, "7", 7),
        ({"type": "array", "items": {"type": "integer"}}, "so [1]", [1]),
    ],
)
def test_answer_is_converted_to_the_output_type(output: Any, text: str, expected: Any) -> None:
    """Stored as JSON, it is read as the same value."""
    wanted = Wanted(output)
    assert wanted.read(text) == expected
    assert wanted.check(plain(wanted.read(text))) == expected


@pytest.mark.parametrize(
    ("output", "text", "message"),
    [
        (Label, "no JSON at all", "Expected `object`, got `str`"),
        (Label, '{"score": 2}', "missing required field `label`"),
        (Model, "{}", "Field required"),
        (Literal["good", "bad"], "ugly", "Invalid enum value 'ugly'"),
        ({"type": "array", "items": {"type": "integer"}}, '["a"]', r"\$\[0\]: 'a' is not of type 'integer'"),
    ],
)
def test_correction_names_the_error_of_an_invalid_answer(output: Any, text: str, message: str) -> None:
    wanted = Wanted(output)
    with pytest.raises(AnswerUnfit, match=message) as failed:
        wanted.read(text)
    assert str(failed.value) in wanted.correction(failed.value)


@given(st.text(max_size=300), st.lists(st.integers(min_value=-(2**53), max_value=2**53)))
def test_list_is_found_in_any_text_without_brackets(around: str, value: list[int]) -> None:
    words = "".join(each for each in around if each not in '[]{}"`0123456789')
    assert Wanted(list[int]).read(f"{words}{value}") == value


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 100_000, '{"a":' * 50_000, "[1," * 50_000])
def test_deeply_nested_answer_does_not_fit_the_type(text: str) -> None:
    """It is not read for ever."""
    with pytest.raises(AnswerUnfit):
        Wanted(list[int]).read(text)
