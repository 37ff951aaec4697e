"""The tour: each prompt suggested by an empty conversation has an answer in cells, plots or edits."""

from __future__ import annotations

import re
from typing import Any

import acp
import pytest
from acp.schema import TextResourceContents

from tests.unit.kernel.shell_tools import Tools
from tests.unit.plugins.eliza.patient import Patient

pytestmark = pytest.mark.asyncio(loop_scope="module")

BY_HAND = "I may not use this notebook's kernel in this conversation. Insert it yourself"
ANSWERS = {
    "Write a cell that loads a CSV file into a DataFrame": BY_HAND,
    "Plot a sine wave in a new cell": BY_HAND,
    "What can you do in this notebook?": "I am the tour",
    "Explain @cell:3": "`In [3]` came without its text.",
    "Plot @petals by species": BY_HAND,
    "Plot @petals": BY_HAND,
    "Fix the last error: @error": "The error came without its cell",
    "Summarize the 12 cells of this notebook: @cells": "0 cells, by their first lines",
    "Fix the error in In [2]: @error:2\n\nFind the cause.": "The error came without its cell",
    "Explain the error in In [2]: @error:2\n\nSay what it means.": "`The error came without its text.`",
}
OTHERS = {
    "Hello": "Hello. I am eliza.",
    "Plot @petals by species and more @cell:2\\": "What is the one thing that the Plot should say?",
    "/plot @petals": "There is no command `/plot`.",
    "": "I am listening.",
}


def attached(text: str) -> Any:
    return acp.resource_block(TextResourceContents(uri="agentnb://error", text=text))


async def test_every_suggested_prompt_has_an_answer(patient: Patient, tools: Tools) -> None:
    """The shell suggests the first three for an empty notebook; the answers here are those without a kernel."""
    assert tools.mentions.examples() == tuple(ANSWERS)[:3]
    for prompt, answer in ANSWERS.items():
        assert answer in await patient.hear(prompt), prompt


async def test_other_prompts_have_no_tour_answer(patient: Patient) -> None:
    for prompt, answer in OTHERS.items():
        text = await patient.hear(prompt)
        assert answer in text, prompt
        assert "```" not in text, prompt


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("total = 0\n1 / total", "ZeroDivisionError: division by zero"),
        ("value + 1", "NameError: name 'value' is not defined"),
        ("int('x')", "ValueError: invalid literal"),
    ],
)
async def test_fixed_cell_runs_without_error(patient: Patient, source: str, error: str) -> None:
    failed = attached(f"{error}\n\nIn [1] as it was run:\n```python\n{source}\n```")
    text = await patient.hear("Fix the last error: @error", failed)
    (code,) = re.findall(r"```python\n(.*?)\n```", text, re.DOTALL)
    exec(compile(code, "cell", "exec"), {})  # noqa: S102 - made of the lines above


async def test_cell_is_described_from_its_syntax(patient: Patient) -> None:
    cell = attached("In [1]:\nimport pandas as pd\npetals = pd.DataFrame({})")
    expected = "`In [1]` has 2 lines. It\n\n- imports `pandas`\n- assigns `petals`\n- calls `pd.DataFrame`\n"
    assert await patient.hear("Explain @cell:1", cell) == expected
