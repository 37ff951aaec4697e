"""The notebook as the pages report it."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from agentnb.errors import UsageError
from agentnb.server.comm.lab import MOST_PAGES, Lab
from agentnb.server.comm.notebook import Unfollowable, follow
from agentnb.server.lab_messages import LONGEST_CELL, MOST_CELLS, EditParams, NotebookParams
from tests.unit.running import run


class Page:
    """A page's end of the comm, in memory."""

    def __init__(self, lab: Lab, comm_id: str = "c1", *, outputs: bool = False) -> None:
        self.comm_id = comm_id
        self.heard: list[dict[str, Any]] = []
        self.lab = lab
        self._closed: Any = None
        lab.opened(self, {"content": {"data": {"v": 1, "outputs": outputs}}})

    def on_msg(self, listener: Any) -> None:
        self.listener = listener

    def on_close(self, listener: Any) -> None:
        self._closed = listener

    def send(self, message: dict[str, Any]) -> None:
        self.heard.append(message)

    def say(self, **params: Any) -> None:
        self.listener({"content": {"data": {"jsonrpc": "2.0", "v": 1, "method": "notebook", "params": params}}})

    def close(self) -> None:
        self._closed({})


def path(lab: Lab) -> str | None:
    return lab.notebook.path if lab.notebook else None


def cell(cell_id: str, source: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": cell_id, "kind": "code", **({} if source is None else {"source": source}), **more}


def test_edit_goes_to_the_page_that_the_user_last_used() -> None:
    """A page reports typing after a pause; meanwhile the user may have clicked in another page."""
    lab = Lab()
    typed, clicked = Page(lab, "c1"), Page(lab, "c2")
    for page in (typed, clicked):
        page.say(path="n.ipynb", cells=[cell("a", "x")])
    clicked.say(path="n.ipynb", idle=0)
    typed.say(path="n.ipynb", cells=[cell("a", "x#")], idle=60_000)
    edit = EditParams(id="", action="replace", cell_id="a", source="y")
    with pytest.raises(UsageError, match="did not answer"):
        run(lab.edit(edit, 0.01))
    assert [each["method"] for each in clicked.heard] == ["edit"]
    assert typed.heard == []
    typed.say(path="n.ipynb", idle=0)
    with pytest.raises(UsageError, match="did not answer"):
        run(lab.edit(edit, 0.01))
    assert [each["method"] for each in typed.heard] == ["edit"]


@pytest.mark.parametrize("params", [{"path": "n"}, {"path": "n", "cells": [cell("a")]}])
def test_page_resends_a_notebook_that_cannot_be_applied(params: dict[str, Any]) -> None:
    """An earlier message was lost, so the page must send everything."""
    page = Page(lab := Lab())
    page.say(**params)
    assert path(lab) is None
    assert [message["method"] for message in page.heard] == ["notebookAgain"]
    page.say(path="n", cells=[cell("a", "x")])
    assert path(lab) == "n"


@pytest.mark.parametrize(
    "params",
    [
        {"path": 1},
        {"path": "n", "cells": [cell("a", "x" * (LONGEST_CELL + 1))]},
        {"path": "n", "cells": [cell(str(number), "") for number in range(MOST_CELLS + 1)]},
        {"path": "n", "selection": "x" * (LONGEST_CELL + 1)},
    ],
)
def test_notebook_report_out_of_bounds_is_dropped(params: dict[str, Any]) -> None:
    """The last valid state stays."""
    page = Page(lab := Lab())
    page.say(path="before", cells=[])
    page.say(**params)
    assert path(lab) == "before"


def test_oldest_page_is_forgotten_when_there_are_too_many() -> None:
    """A page that the user closes does not report it."""
    lab = Lab()
    pages = [Page(lab, f"c{number}") for number in range(MOST_PAGES + 1)]
    pages[0].say(path="forgotten", cells=[])
    assert path(lab) is None
    pages[1].say(path="known", cells=[])
    assert path(lab) == "known"


def test_first_report_without_cells_cannot_be_applied() -> None:
    with pytest.raises(Unfollowable):
        follow(None, msgspec.convert({"path": "n"}, NotebookParams))


def answer(page: Page, **params: Any) -> None:
    page.listener({"content": {"data": {"jsonrpc": "2.0", "v": 1, "method": "edited", "params": params}}})


def test_edit_fails_when_no_page_answers() -> None:
    """No page is open, or it does not answer in time."""
    lab = Lab()
    edit = EditParams(id="", action="run", cell_id="a")
    with pytest.raises(UsageError, match="No browser page shows"):
        run(lab.edit(edit, 30))
    Page(lab).say(path="fit.ipynb", cells=[])
    with pytest.raises(UsageError, match="did not answer within 0 s"):
        run(lab.edit(edit, 0))


def test_saves_through_a_page_are_recorded_with_their_time() -> None:
    """Records save, new, rename and delete through a page; ignores other messages; keeps the notebook's state."""
    lab = Lab()
    page = Page(lab)
    before = time.time()
    for params in (
        {"path": "src/a.py", "type": "save"},
        {"path": "b.py", "type": "rename", "was": "a.py"},
        {"path": "c.py", "type": "opened"},
        {"type": "save"},
    ):
        page.listener({"content": {"data": {"jsonrpc": "2.0", "v": 1, "method": "saved", "params": params}}})
    assert [(save.path, save.type, save.was) for save, _ in lab.saved] == [
        ("src/a.py", "save", None),
        ("b.py", "rename", "a.py"),
    ]
    assert all(before <= at <= time.time() for _, at in lab.saved)
    assert (lab.notebook, page.heard) == (None, [])


def test_outputs_are_empty_when_the_page_answers_too_late() -> None:
    """Its notebook may just have been closed; a late answer is ignored."""
    lab = Lab()
    page = Page(lab, outputs=True)
    page.say(path="one.ipynb", cells=[])
    assert lab.outputs(["a"], 0.01) == ()
    late = {"jsonrpc": "2.0", "v": 1, "method": "cellOutputs", "params": {"id": page.heard[0]["params"]["id"]}}
    page.listener({"content": {"data": late}})
    assert lab.outputs(["a"], 0.01) == ()
