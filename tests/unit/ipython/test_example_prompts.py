"""The example prompts of an empty conversation, from a shell's cells, tables and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from agentnb.errors import KernelBusy
from agentnb.ipython.cell_errors import errors_of
from agentnb.ipython.shell_mentions import LONGEST_NAME, example_prompts
from tests.unit.kernel.notebook_page import NotebookPage

PETALS = pd.DataFrame({"length": [1.4, 4.7], "species": ["setosa", "versicolor"]})


class DataFrame:
    """A table of another library, whose columns raise an error."""

    @property
    def columns(self) -> list[str]:
        message = "no columns today"
        raise RuntimeError(message)


def shell(*cells: str, **variables: Any) -> Any:
    """Returns the parts of a shell that examples need, after these cells."""
    history = SimpleNamespace(input_hist_raw=["", *cells], output_hist_reprs={})
    compiler = SimpleNamespace(format_code_name=lambda _: None)
    return SimpleNamespace(
        user_ns=variables, user_ns_hidden={}, history_manager=history, execution_count=len(cells) + 1, compile=compiler
    )


def at_once(look: Callable[[], str]) -> str:
    return look()


def busy(look: Callable[[], str]) -> str:
    raise KernelBusy("A cell runs.")


def examples(ip: Any, run: Callable[[Callable[[], str]], str] = at_once) -> tuple[str, ...]:
    return example_prompts(ip, list(ip.user_ns), run)


def test_examples_use_a_cell_a_table_and_the_last_error() -> None:
    """The longest cell that is not a prompt, and a column whose values form groups."""
    ip = shell("import pandas", "petals = read()\nfit(petals)", "%%agent\nWhy?\nSay it\nshort", n=1, petals=PETALS)
    errors_of(ip).remember(ValueError("no fit"), 2)
    assert examples(ip) == ("Explain @cell:2", "Plot @petals by species", "Fix the last error: @error")


def test_examples_exist_before_any_cell_has_run() -> None:
    assert len(examples(shell())) == len(set(examples(shell()))) == 3


@pytest.fixture
def notebook_page() -> Iterator[NotebookPage]:
    """A page with three cells, of which two have run."""
    page = NotebookPage("work.ipynb", {"a": "x = 1", "b": "y = 2\nz = 3", "c": "never()\nrun()\nyet()"})
    for cell, count in zip(page.cells, (1, 7), strict=False):
        cell["count"] = count
    page.tell()
    yield page
    page.close()


@pytest.mark.usefixtures("notebook_page")
def test_examples_use_the_notebook_that_the_page_reports() -> None:
    ip = shell("x = 1", "y = 2")
    errors_of(ip).remember(ValueError("fixed since"), 5, "b")
    assert examples(ip)[:2] == ("Explain @cell:7", "Summarize the 3 cells of this notebook: @cells")
    errors_of(ip).remember(ValueError("still there"), 7, "b")
    assert examples(ip)[1] == "Fix the last error: @error"


@pytest.mark.parametrize(
    ("columns", "prompt"),
    [
        (["x", "y"], "Plot @t by x"),
        ([0, 1], "Plot @t"),
        (["a\nb", "c"], "Plot @t by c"),
        (["c" * (LONGEST_NAME + 1), " "], "Plot @t"),
        ([("a", "b"), ("a", "c")], "Plot @t"),
    ],
)
def test_plot_example_names_only_a_plain_column(columns: list[Any], prompt: str) -> None:
    """Numbers, line breaks, pairs and long names do not fit in a prompt."""
    table = pd.DataFrame([[1, 2]], columns=columns)
    assert examples(shell(t=table))[0] == prompt


def test_plot_example_names_a_table_that_cannot_be_inspected() -> None:
    assert examples(shell(t=PETALS), busy)[0] == "Plot @t"
    assert examples(shell(t=DataFrame()))[0] == "Plot @t"
