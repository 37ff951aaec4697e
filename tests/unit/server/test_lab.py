"""The notebook as the pages report it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from agentnb.errors import UsageError
from tests.unit.server.lab_page import Page, cell, edit

LONG = "x" * 20_001


def path(page: Page) -> str | None:
    """Returns the notebook of the page that was used last."""
    return page.lab.notebook.path if page.lab.notebook else None


def test_edit_goes_to_the_page_that_the_user_last_used() -> None:
    """A page reports typing after a pause; meanwhile the user may have clicked in another page."""
    typed = Page()
    lab = typed.lab
    clicked = Page(lab, "c2")
    for page in (typed, clicked):
        page.say(path="n.ipynb", cells=[cell("a", "x")])
    clicked.say(path="n.ipynb", idle=0)
    typed.say(path="n.ipynb", cells=[cell("a", "x#")], idle=60_000)
    for page, other in ((clicked, typed), (typed, clicked)):
        page.say(path="n.ipynb", idle=0)
        before = len(other.heard)
        with pytest.raises(UsageError, match="did not answer"):
            edit(lab, 0.01, action="replace", source="y")
        assert ([each["method"] for each in page.heard], len(other.heard)) == (["edit"], before)


@pytest.mark.parametrize("params", [{"path": "n"}, {"path": "n", "cells": [cell("a")]}], ids=["no cells", "no source"])
def test_page_resends_a_notebook_that_cannot_be_applied(params: dict[str, Any]) -> None:
    """An earlier message was lost, so the page must send everything."""
    page = Page()
    page.say(**params)
    assert path(page) is None
    assert [message["method"] for message in page.heard] == ["notebookAgain"]
    page.say(path="n", cells=[cell("a", "x")])
    assert path(page) == "n"


@pytest.mark.parametrize(
    "params",
    [
        {"path": 1},
        {"path": "n", "cells": [cell("a", LONG)]},
        {"path": "n", "cells": [cell(str(number), "") for number in range(1_001)]},
        {"path": "n", "selection": LONG},
    ],
    ids=["a number as path", "a long cell", "many cells", "a long selection"],
)
def test_notebook_report_out_of_bounds_is_dropped(params: dict[str, Any]) -> None:
    """The last valid state stays."""
    page = Page()
    page.say(path="before", cells=[])
    page.say(**params)
    assert path(page) == "before"


def test_oldest_of_seventeen_pages_is_forgotten() -> None:
    """A page that the user closes does not report it."""
    first = Page()
    others = [Page(first.lab, f"c{number}") for number in range(2, 18)]
    first.say(path="forgotten", cells=[])
    assert path(first) is None
    others[0].say(path="known", cells=[])
    assert path(first) == "known"


def test_edit_fails_when_no_page_answers() -> None:
    """No page is open, or it does not answer in time."""
    page = Page()
    page.close()
    with pytest.raises(UsageError, match="No browser page shows"):
        edit(page.lab, 30, action="run")
    Page(page.lab).say(path="fit.ipynb", cells=[])
    with pytest.raises(UsageError, match="did not answer within 0 s"):
        edit(page.lab, 0, action="run")


def test_saves_through_a_page_are_recorded_with_their_time() -> None:
    """Records save, new, rename and delete through a page; ignores other messages; keeps the notebook's state."""
    page, before = Page(), time.time()
    page.say("saved", path="src/a.py", type="save")
    page.say("saved", path="b.py", type="rename", was="a.py")
    page.say("saved", path="c.py", type="opened")
    page.say("saved", type="save")
    saves = [(save.path, save.type, save.was) for save, _ in page.lab.saved]
    assert saves == [("src/a.py", "save", None), ("b.py", "rename", "a.py")]
    assert all(before <= at <= time.time() for _, at in page.lab.saved)
    assert (page.lab.notebook, page.heard) == (None, [])


def test_outputs_are_empty_when_the_page_answers_too_late() -> None:
    """Its notebook may just have been closed; a late answer is ignored."""
    page = Page(outputs=True)
    page.say(path="one.ipynb", cells=[])
    assert page.lab.outputs(["a"], 0.01) == ()
    page.say("cellOutputs", id=page.heard[0]["params"]["id"])
    assert page.lab.outputs(["a"], 0.01) == ()
