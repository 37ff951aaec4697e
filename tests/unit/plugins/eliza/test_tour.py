"""The tour: each prompt suggested by an empty conversation has an answer in cells, plots or edits."""

from __future__ import annotations

import pytest

from agentnb.ipython.shell_mentions import NOTHING_YET
from agentnb.plugins.eliza.tour import answer_of, described, fixed_cell

SUGGESTED = [
    *NOTHING_YET,
    "Explain @cell:3",
    "Plot @petals by species",
    "Plot @petals",
    "Fix the last error: @error",
    "Summarize the 12 cells of this notebook: @cells",
    "Fix the error in In [2]: @error:2\n\nFind the cause.",
    "Explain the error in In [2]: @error:2\n\nSay what it means.",
]


@pytest.mark.parametrize("prompt", SUGGESTED)
def test_every_suggested_prompt_has_an_answer(prompt: str) -> None:
    assert answer_of(prompt) is not None


@pytest.mark.parametrize("prompt", ["Hello", "Plot @petals by species and more @cell:2\\", "/plot @petals", ""])
def test_other_prompts_have_no_tour_answer(prompt: str) -> None:
    assert answer_of(prompt) is None


@pytest.mark.parametrize(
    ("source", "error", "fixed"),
    [
        ("total = 0\n1 / total", "ZeroDivisionError: division by zero", None),
        ("value + 1", "NameError: name 'value' is not defined", None),
        ("int('x')", "ValueError: invalid literal", ""),
    ],
)
def test_fixed_cell_runs_without_error(source: str, error: str, fixed: str | None) -> None:
    code, words = fixed_cell(source, error)
    exec(compile(code, "cell", "exec"), {})  # noqa: S102 - made of the lines above
    assert words


def test_cell_is_described_from_its_syntax() -> None:
    source = "import pandas as pd\npetals = pd.DataFrame({})"
    expected = "`In [1]` has 2 lines. It\n\n- imports `pandas`\n- assigns `petals`\n- calls `pd.DataFrame`\n"
    assert described(source, "`In [1]`") == expected
