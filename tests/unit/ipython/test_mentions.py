"""Mentions: how they are recognized, what they mean, and what they attach."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.errors import OutsideWorkspace, UnknownMention
from agentnb.ipython.cells import LONGEST as LONGEST_CELLS
from agentnb.ipython.mentions import Scope, attachments
from agentnb.state import MessageResourceAttachment, SimpleMessageAttachment
from tests.unit.ipython.scopes import scope_with

NAMES = {"df": [1, 2], "model": "m", "größe": 3, "_x": 1}


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    """A workspace with three files, four variables and two cells."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "my notes.md").write_text("notes", encoding="utf-8")
    (tmp_path / "README").write_text("read me", encoding="utf-8")
    return scope_with(tmp_path, NAMES, ("", "x = 1", "x"), {2: "1"})


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
def test_mention_is_an_at_sign_before_a_word_outside_code(prompt: str, labels: list[str], scope: Scope) -> None:
    assert labels == [attachment.label for attachment in attachments(prompt, [], scope)]


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("@dff", ["@dff", "Did you mean @df?", "backticks"]),
        ("@data/tran.csv", ["@data/tran.csv"]),
        ("@nothing.here", ["@nothing.here"]),
        ("@cell:9", ["@cell:9", "Cells 1 to 2"]),
        ("@READMI", ["@README"]),
    ],
)
def test_unknown_mention_error_suggests_similar_names(prompt: str, parts: list[str], scope: Scope) -> None:
    with pytest.raises(UnknownMention) as raised:
        attachments(f"See {prompt}", [], scope)
    assert [] == [part for part in parts if part not in str(raised.value)]


def test_a_file_outside_of_the_workspace_is_refused(scope: Scope) -> None:
    with pytest.raises(OutsideWorkspace, match="outside the workspace"):
        attachments("@../", [], scope)


def test_names_given_by_option_are_attached_once(scope: Scope) -> None:
    attached = attachments("@df", ["df", "model", "data/train.csv"], scope)
    assert ["df", "model", "data/train.csv"] == [attachment.label for attachment in attached]


def test_variable_attachment_has_its_type_head_and_range(scope: Scope) -> None:
    (attachment,) = attachments("One\ntwo @df.", [], scope)
    assert isinstance(attachment, SimpleMessageAttachment)
    assert attachment.range is not None
    assert (1, 4, 1, 7) == (
        attachment.range.start.line,
        attachment.range.start.character,
        attachment.range.end.line,
        attachment.range.end.character,
    )
    assert "df: list, length 2\n[1, 2]" == attachment.model_representation


def test_file_attachment_has_address_size_and_type(scope: Scope) -> None:
    (attachment,) = attachments("@data/train.csv", [], scope)
    assert isinstance(attachment, MessageResourceAttachment)
    expected = ((scope.cwd / "data/train.csv").as_uri(), 8, "text/csv")
    assert expected == (attachment.uri, attachment.size_hint, attachment.content_type)


def test_cells_attachment_has_results_and_omits_the_oldest(scope: Scope) -> None:
    (attachment,) = attachments("@cells", [], scope)
    assert isinstance(attachment, SimpleMessageAttachment)
    assert "In [1]:\nx = 1\n\nIn [2]:\nx\nOut[2]:\n1" == attachment.model_representation
    long = scope_with(scope.cwd, {}, ("", "old" * 10, "y" * LONGEST_CELLS))
    (cut,) = attachments("@cells", [], long)
    assert isinstance(cut, SimpleMessageAttachment)
    assert "old" not in (cut.model_representation or "")


@given(st.text(alphabet="@ab.:/\\`\"'~ \n()"))
def test_any_prompt_is_parsed_or_fails_with_a_hint(prompt: str) -> None:
    try:
        understood = attachments(prompt, [], scope_with(Path(__file__).parent, {"a": 1})) is not None
    except (UnknownMention, OutsideWorkspace) as error:
        understood = bool(error.hint)
    assert understood
