"""What the chat suggests after ``@``, and the example prompts of an empty conversation, from a shell's contents."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.unit.ipython.conftest import Open, Shell
from tests.unit.kernel.shell_tools import Tools

PETALS = pd.DataFrame({"length": [1.4, 4.7], "species": ["setosa", "versicolor"]})


class Broken:
    """An object that fails on inspection."""

    def __getattr__(self, name: str) -> Any:
        message = f"no {name} today"
        raise RuntimeError(message)


class DataFrame:
    """A table of another library, whose columns raise an error."""

    @property
    def columns(self) -> list[str]:
        message = "no columns today"
        raise RuntimeError(message)


@pytest.fixture
def used(shell: Shell) -> Shell:
    """A shell with variables and two cells, in a folder with files."""
    (shell.folder / "data").mkdir()
    (shell.folder / "data" / "rows.csv").write_text("a,b\n")
    (shell.folder / "fit.py").write_text("x = 1\n")
    shell.names.update(broken=Broken(), _hidden=1)
    shell.run("import json; subframe, frame = 'x', [1, 2]", "frame[0]")
    return shell


def texts(shell: Shell, start: str = "") -> list[str]:
    return [one.text for one in shell.suggested(start)]


def test_suggestions_describe_variables_and_cells(used: Shell) -> None:
    """Everything is offered before the user types, even a failing object; modules come last.

    `@` and Enter takes the first; prompts are not about IPython's `open`.
    """
    assert [(one.text, one.kind, one.detail) for one in used.suggested()] == [
        ("cells", "cell", "all 2 that were run"),
        ("cell:2", "cell", "frame[0]"),
        ("cell:1", "cell", "import json; subframe, frame = 'x', [1, 2]"),
        ("frame", "variable", "list, length 2"),
        ("subframe", "variable", "str, length 1"),
        ("broken", "variable", ""),
        ("data/", "folder", ""),
        ("fit.py", "file", ""),
        ("json", "variable", "module"),
    ]
    assert texts(used, "o") == ["broken", "json"]
    assert texts(used, "FRAME") == ["frame", "subframe"]
    assert texts(used, "data/r") == ["data/rows.csv"]


def test_suggestions_put_recently_used_names_first(shell: Shell) -> None:
    """From the cell that ran last, and in it the last name."""
    shell.names.update(dict.fromkeys(["a", "b", "c", "d"], 1))
    shell.run("a = b = c = 1", "a", "print(c, b)")
    assert [one.text for one in shell.suggested() if one.kind == "variable"] == ["b", "c", "a", "d"]


def test_number_of_suggestions_is_limited(shell: Shell) -> None:
    """Nobody reads a list of a thousand files."""
    for number in range(80):
        (shell.folder / f"f{number}").touch()
    assert len(shell.suggested()) == 40


class Watched:
    """An object that records the threads that inspect it."""

    def __init__(self) -> None:
        self.threads: set[threading.Thread] = set()

    def __repr__(self) -> str:
        self.threads.add(threading.current_thread())
        return "a watched object"


def test_objects_are_inspected_only_on_the_main_thread(tmp_path: Path) -> None:
    tools, watched = Tools(), Watched()
    tools.shell.user_ns["watched"] = watched
    attachments = tools.during(asyncio.to_thread(tools.mentions.attach, "What is @watched?", tmp_path))
    assert "a watched object" in str(attachments)
    offered = tools.during(asyncio.to_thread(tools.mentions.suggest, "watch", tmp_path))
    assert [one.detail.rpartition(".")[2] for one in offered] == ["Watched"]
    assert watched.threads == {threading.main_thread()}


def test_objects_are_described_by_type_when_the_kernel_is_busy(tmp_path: Path) -> None:
    tools, watched = Tools(), Watched()
    tools.shell.user_ns.update(watched=watched, other=watched)
    tools.patience = 0.01
    with ThreadPoolExecutor(1) as thread:
        attachments = thread.submit(tools.mentions.attach, "What are @watched and @other?", tmp_path).result()
        offered = thread.submit(tools.mentions.suggest, "watch", tmp_path).result()
    assert [one.label for one in attachments] == ["watched", "other"]
    assert "watched: Watched. Its value is not shown: " in str(attachments[0])
    assert [one.detail for one in offered] == ["Watched"]
    assert watched.threads == set()


def test_examples_use_a_cell_a_table_and_the_last_error(shell: Shell) -> None:
    """The longest cell that is not a prompt, and a column whose values form groups."""
    assert len({*shell.mentions.examples()}) == 3
    shell.names.update(n=1, petals=PETALS)
    shell.run("import pandas", "petals\n1 / 0", "%%agent\nWhy?\nSay it\nshort")
    assert shell.mentions.examples() == ("Explain @cell:2", "Plot @petals by species", "Fix the last error: @error")


def test_examples_use_the_notebook_that_the_page_reports(shell: Shell, open_page: Open) -> None:
    cells = {"a": "x = 1", "b": "y = 2\n1 / 0", "c": "never()\nrun()\nyet()"}
    shell.run(cells["b"], cell_id="b")
    page = open_page(cells, {"a": 2, "b": 7})
    summary = "Summarize the 3 cells of this notebook: @cells"
    assert shell.mentions.examples()[:2] == ("Explain @cell:7", summary)
    page.cells[1]["count"] = 1  # the run that failed
    page.tell()
    assert shell.mentions.examples()[:2] == ("Explain @cell:1", "Fix the last error: @error")


@pytest.mark.parametrize(
    ("table", "prompt"),
    [
        (pd.DataFrame([[1, 2]], columns=["x", "y"]), "Plot @t by x"),
        (pd.DataFrame([[1, 2]], columns=[0, 1]), "Plot @t"),
        (pd.DataFrame([[1, 2]], columns=["a\nb", "c"]), "Plot @t by c"),
        (pd.DataFrame([[1, 2]], columns=["c" * 41, " "]), "Plot @t"),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), "Plot @t"),
        (DataFrame(), "Plot @t"),
    ],
    ids=["plain", "numbers", "line break", "long", "pairs", "raises"],
)
def test_plot_example_names_only_a_plain_column(shell: Shell, table: Any, prompt: str) -> None:
    """Numbers, line breaks, pairs and long names do not fit in a prompt."""
    shell.names["t"] = table
    assert shell.mentions.examples()[0] == prompt


def test_plot_example_has_no_column_while_a_cell_runs(shell: Shell) -> None:
    shell.names["t"] = PETALS
    with ThreadPoolExecutor(1) as chat:
        assert chat.submit(shell.mentions.examples).result()[0] == "Plot @t"
