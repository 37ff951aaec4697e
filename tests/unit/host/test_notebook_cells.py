"""The cells of a notebook's file against those of a page that shows it.

The inside: generated notebooks, and files of any content.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.host.changes.open_notebook import MOST_CELLS, FileCell, cells_in, is_cells_only, missing_in_page
from agentnb.kernel.code_runner import NotebookCell
from tests.unit.host.test_open_notebook import notebook
from tests.unit.kernel.notebook_page import NotebookPage

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "cell_type", "source", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=4) | json_values, st.sampled_from([4, 3, "4", None]))
def test_any_json_file_gives_cells_or_none(cells: Any, version: Any) -> None:
    file_cells = cells_in(json.dumps({"nbformat": version, "cells": cells}).encode())
    assert file_cells is None or len(file_cells) == len(cells)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"[" * 100_000, b"4", b'{"nbformat": 4}', b"\xff"])
def test_file_that_is_not_a_notebook_gives_no_cells(content: bytes) -> None:
    assert cells_in(content) is None


texts = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("123"), max_size=6)


def in_order(cells: dict[str, str]) -> dict[str, str]:
    return dict(sorted(cells.items()))


@given(texts.map(in_order), texts.map(in_order))
def test_page_with_the_old_cells_gets_exactly_the_new_ones(before: dict[str, str], after: dict[str, str]) -> None:
    """However the agent changed, added and deleted them."""
    page = NotebookPage("fit.ipynb", before)
    then, now = ([FileCell(name, "code", text) for name, text in cells.items()] for cells in (before, after))
    page_cells = [NotebookCell(id=name, kind="code", source=text) for name, text in before.items()]
    changes = missing_in_page("fit.ipynb", then, now, page_cells)
    assert changes is not None
    steps = [step for each in changes if (step := each.step(each.source)) is not None]
    page.close()
    assert page.changed(steps) == {}
    assert list(page.texts().items()) == list(after.items())


@given(texts.map(in_order), texts.map(in_order))
def test_page_changed_only_by_the_user_gets_no_offer(page_cells: dict[str, str], saved: dict[str, str]) -> None:
    """The file has the same cells before and after; only outputs differ."""
    cells = [FileCell(name, "code", text) for name, text in saved.items()]
    page = [NotebookCell(id=name, kind="code", source=text) for name, text in page_cells.items()]
    assert missing_in_page("fit.ipynb", cells, cells, page) == []


CELL = {"id": "a", "cell_type": "code", "metadata": {}, "source": "1", "outputs": [1], "execution_count": 2}


@pytest.mark.parametrize(
    ("cell", "more", "expected"),
    [
        ({**CELL, "source": "2"}, {}, True),
        ({**CELL, "source": "2", "outputs": [], "execution_count": None}, {}, True),
        ({"id": "b", "cell_type": "markdown", "metadata": {}, "source": "2"}, {}, True),
        ({**CELL, "outputs": [2]}, {}, False),
        ({**CELL, "id": "b"}, {}, False),
        ({**CELL, "metadata": {"tags": ["x"]}}, {}, False),
        ({**CELL, "cell_type": "raw"}, {}, False),
        ({**CELL, "attachments": {}}, {}, False),
        ({"id": "b", "cell_type": "markdown", "metadata": {"tags": ["x"]}, "source": ""}, {}, False),
        (CELL, {"metadata": {"kernelspec": {}}}, False),
        ([], {}, False),
    ],
)
def test_only_cell_text_changes_allow_saving_over_the_file(cell: Any, more: dict[str, Any], *, expected: bool) -> None:
    """The page does not have the outputs and metadata that the agent wrote."""
    made = {"nbformat": 4, "metadata": {}}
    before, after = {**made, "cells": [CELL]}, {**made, **more, "cells": [cell]}
    assert is_cells_only(json.dumps(before).encode(), json.dumps(after).encode()) is expected
    assert not is_cells_only(b"", json.dumps(after).encode())


def test_cells_without_ids_are_matched_by_position() -> None:
    """In nbformat 4.4 and older, the page makes up ids that the file lacks."""
    then, now = (
        [FileCell("", "code", "1"), FileCell("", "code", "2")],
        [FileCell("", "code", "1"), FileCell("", "code", "3")],
    )
    page = [NotebookCell(id=name, kind="code", source=text) for name, text in (("p", "1"), ("q", "2"))]
    (change,) = missing_in_page("fit.ipynb", then, now, page) or []
    assert (change.cell_id, change.before, change.after) == ("q", "2", "3")
    assert missing_in_page("fit.ipynb", then, now[:1], page) is None


def test_truncated_page_cell_is_compared_with_the_file_text() -> None:
    long = "1" * 30_000
    page = [NotebookCell(id="a", kind="code", source=long[:20_000], cut=True)]
    then, now = ([FileCell("a", "code", text)] for text in (long, f"{long}2"))
    (change,) = missing_in_page("fit.ipynb", then, now, page) or []
    assert (change.before, change.after) == (long, f"{long}2")
    many = [FileCell(str(at), "code", "") for at in range(MOST_CELLS)]
    assert cells_in(notebook({each.id: each.source for each in many}).encode()) is None
