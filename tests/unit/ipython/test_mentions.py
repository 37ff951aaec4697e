"""Mentions in prompts: how they are recognized, what they mean, and what they attach."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentnb.errors import OutsideWorkspace, UnknownMention
from agentnb.state import MessageResourceAttachment, SimpleMessageAttachment, TextPosition, TextRange
from tests.unit.ipython.conftest import Open, Shell, contents

CELLS = {"a": "# Title", "b": "x = 2  # edited", "c": "never_run()"}


@pytest.fixture
def full(shell: Shell) -> Shell:
    """A shell with four variables and two cells, in a folder with three files."""
    (shell.folder / "data").mkdir()
    (shell.folder / "data" / "train.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (shell.folder / "my notes.md").write_text("notes", encoding="utf-8")
    (shell.folder / "README").write_text("read me", encoding="utf-8")
    shell.names.update({"df": [1, 2], "model": "m", "größe": 3, "_x": 1})
    shell.run("x = 1", "x")
    return shell


@pytest.mark.parametrize(
    ("prompt", "labels"),
    [
        ("Look at @df.", ["df"]),
        ("Look at @df, @model; (@df) '@model'", ["df", "model"]),
        ("@df's shape and @df.columns", ["df"]),
        ("@größe?", ["größe"]),
        ("See @data/train.csv.", ["data/train.csv"]),
        ("See @./data/train.csv", ["data/train.csv"]),
        ("See @data and @data/", ["data"]),
        ('See @"my notes.md"', ["my notes.md"]),
        ("See @README", ["README"]),
        ("Fix @cell:2 and @cells", ["cell:2", "cells"]),
        ("Write to ada@example.org", []),
        ("a@b @ home, 5 @ 3, @3pm", []),
        ("What does `@property` do? ``@x``", []),
        ("```python\n@cache\ndef f(): ...\n```", []),
        ("@cache\ndef f(): ...", []),
        ("@app.route('/x')\nasync def f(): ...", []),
        (r"A plain \@name", []),
    ],
)
def test_mention_is_an_at_sign_before_a_word_outside_code(prompt: str, labels: list[str], full: Shell) -> None:
    assert [*full.attached(prompt)] == labels


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("@dff", ["@dff", "Did you mean @df?", "backticks"]),
        ("@data/tran.csv", ["@data/tran.csv"]),
        ("@nothing.here", ["@nothing.here"]),
        ("@cell:9", ["@cell:9", "Cells 1 to 2"]),
        ("@READMI", ["@README"]),
        ("@cell", ["Open agentnb's sidebar"]),
        ("@selection", ["Open agentnb's sidebar"]),
        ("@plot", ["no figure is open, and the kernel knows of no cell that has shown one"]),
        ("@output:1", ["In [1] has no output"]),
        ("@output:9", ["names no cell. Cells 1 to 2 have been run"]),
    ],
)
def test_mention_of_nothing_is_refused_with_advice(prompt: str, parts: list[str], full: Shell) -> None:
    """In the chat it is prose."""
    with pytest.raises(UnknownMention) as raised:
        full.attachments(f"See {prompt}")
    assert [] == [part for part in parts if part not in str(raised.value)]
    assert full.mentions.attach(f"See {prompt}", full.folder) == ()


def test_file_outside_of_the_workspace_is_refused(full: Shell) -> None:
    with pytest.raises(OutsideWorkspace, match="outside the workspace"):
        full.attachments("@../")


def test_names_given_by_option_are_attached_once(full: Shell) -> None:
    assert [*full.attached("@df", "df", "model", "data/train.csv")] == ["df", "model", "data/train.csv"]


def test_attachments_of_a_variable_and_a_file_describe_them(full: Shell) -> None:
    """Its type, head and range in the prompt; its address, size and type."""
    variable, file = full.attachments("One\ntwo @df. @data/train.csv")
    assert isinstance(variable, SimpleMessageAttachment)
    start, end = TextPosition(line=1, character=4), TextPosition(line=1, character=7)
    assert variable.range == TextRange(start=start, end=end)
    assert variable.model_representation == "df: list, length 2\n[1, 2]"
    assert isinstance(file, MessageResourceAttachment)
    uri = (full.folder / "data/train.csv").as_uri()
    assert (file.uri, file.size_hint, file.content_type) == (uri, 8, "text/csv")


def test_chat_prompt_attaches_only_known_mentions(full: Shell) -> None:
    """Each once; unknown names, code and files outside the workspace are ignored."""
    prompt = "@df and @df, @nobody, `@model`, @cell:1, @../secret, @README"
    assert [*contents(full.mentions.attach(prompt, full.folder))] == ["df", "cell:1", "README"]


@given(st.text(alphabet="@ab.:/\\`\"'~ \n()"))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_prompt_is_parsed_or_fails_with_a_hint(shell: Shell, prompt: str) -> None:
    shell.names["a"] = 1
    shell.folder = Path(__file__).parent
    try:
        understood = shell.attachments(prompt) is not None
    except (UnknownMention, OutsideWorkspace) as error:
        understood = bool(error.hint)
    assert understood


def test_cells_attachment_has_results_and_omits_the_oldest(full: Shell) -> None:
    assert full.attached("@cells") == {"cells": "In [1]:\nx = 1\n\nIn [2]:\nx\nOut[2]:\n1"}
    full.run("'" + "y" * 20_000 + "';")
    assert "x = 1" not in full.attached("@cells")["cells"]


def test_cell_mention_uses_history_when_no_cell_has_the_number(full: Shell, open_page: Open) -> None:
    open_page(CELLS, {"b": 3})
    assert full.attached("@cell:1") == {"cell:1": "In [1]:\nx = 1"}


def test_long_notebook_is_cut_around_the_active_cell(shell: Shell, open_page: Open) -> None:
    open_page({str(n): f"cell{n} " + "y" * 3_000 for n in range(20)}, active="10")
    text = shell.attached("@cells")["cells"]
    assert "cell10" in text
    assert "cell0 " not in text
    assert "cells left out" in text
    assert len(text) < 20_200


def test_selection_without_text_attaches_the_selected_cells(shell: Shell, open_page: Open) -> None:
    """Each is its own attachment, with outputs, in the notebook's order; otherwise the active cell."""
    shell.run("x = 2\n'two'")
    page = open_page(CELLS, {"b": 1}, active="c", selection="never")
    assert shell.attached("@selection") == {"selection": "never"}
    page.shown["selection"] = ""
    page.tell()
    assert shell.attached("@selection") == {"selection": "Code cell, not run:\nnever_run()"}
    page.shown["selected"] = ["b", "a"]
    page.tell()
    assert shell.attached("@selection") == {
        "selection": "Markdown cell:\n# Title",
        "selection 2": "In [1]:\nx = 2  # edited\nOut[1]:\n'two'",
    }


def test_selection_of_many_cells_is_cut_and_counts_the_rest(shell: Shell, open_page: Open) -> None:
    cells = {f"c{n}": f"# {n}" for n in range(25)}
    open_page(cells, selected=[*cells])
    *_, last = shell.attached("@selection").values()
    assert last == "5 more cells are selected; left out."


def test_cell_that_has_not_run_is_found_by_its_id_prefix(shell: Shell, open_page: Open) -> None:
    open_page({f"{n}234-abcd": f"x{n}" for n in "56"})
    assert [*shell.attached("@cell:5234-ab").values()] == ["Code cell, not run:\nx5"]
    assert [*shell.attached("@cell:6234").values()] == ["Code cell, not run:\nx6"]
    with pytest.raises(UnknownMention):
        shell.attached("@cell:234-")


def test_cells_with_the_same_id_stay_separate(shell: Shell, open_page: Open) -> None:
    """``@cells`` has both, and ``@cell`` is the active one."""
    page = open_page({"same": "one()", "other": "two()"}, active="same", activeAt=1)
    page.cells[1]["id"] = "same"
    page.tell()
    assert [*shell.attached("@cell").values()] == ["Code cell, not run:\ntwo()"]
    both = "Code cell, not run:\none()\n\nCode cell, not run:\ntwo()"
    assert shell.attached("@cells") == {"cells": both}


def test_selection_added_to_a_message_keeps_its_code(shell: Shell) -> None:
    """The same code has one name; the oldest are forgotten."""
    names = [shell.quote(text) for text in ("x = 1", "x = 1", "y = 2")]
    assert names == ["selection:1", "selection:1", "selection:2"]
    assert shell.attached("@selection:1") == {"selection:1": "Selected in a cell:\n```\nx = 1\n```"}
    for number in range(49):
        shell.quote(str(number))
    assert shell.attached("@selection:2")
    with pytest.raises(UnknownMention):
        shell.attached("@selection:1")
