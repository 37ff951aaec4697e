"""The page's requests: begin, follow, stop, and whether the notebook has changed since."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.plugins.verify.notebooks import cell, notebook, saved
from tests.unit.server.asking_page import Page

pytestmark = pytest.mark.slow


def ask(page: Page, request: str, path: Path, **params: Any) -> dict[str, Any]:
    """Returns the verification's state, which answers each request."""
    state: dict[str, Any] = page.ask(f"verify/{request}", {"path": str(path), **params})["result"]
    return state


def states(page: Page, path: Path) -> list[dict[str, Any]]:
    """Returns every state until the verification is over."""
    seen = [ask(page, "state", path)]
    while seen[-1]["status"] == "running":
        seen.append(ask(page, "state", path, revision=seen[-1]["revision"]))
    return seen


def test_page_follows_a_verification_until_it_is_stale(page: Page, tmp_path: Path) -> None:
    """It shows progress and findings, and that they belong to the text at its start."""
    path = saved(tmp_path, notebook(cell("x = 1", 1), cell("print(z)", 3)))
    assert ask(page, "state", path)["status"] == "none"
    assert [ask(page, "begin", path)["status"] for _ in range(2)] == ["running", "running"]
    followed = states(page, path)
    assert {(each["done"], each["all"]) for each in followed} >= {(1, 2)}
    last = followed[-1]
    [finding] = last["findings"]
    assert (last["ok"], finding["kind"], finding["cell"]["id"]) == (False, "deleted-cell", "c1")
    assert last["time"] > 0
    assert "cell id c1 (deleted-cell)" in last["task"]
    changed = notebook(cell("x = 1", 1, "", "note"), cell("print(z)", 3))
    changed["cells"][0]["metadata"] = {"scrolled": True}
    changed["cells"].insert(0, {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# New"})
    for content, is_stale in (
        (changed, False),
        (notebook(cell("x = 1", 4), cell("print(z)", 3)), True),
        (notebook(cell("x = 2", 1), cell("print(z)", 3)), True),
    ):
        saved(tmp_path, content)
        assert ask(page, "state", path)["isStale"] == is_stale


def test_every_waiting_page_receives_a_result_at_once(page: Page, tmp_path: Path) -> None:
    """Of more than 50 windows that wait, the first ones get an answer before the result."""
    path = saved(tmp_path, notebook(cell("print(z)", 3)))
    revision = ask(page, "state", path)["revision"]
    for number in range(100, 152):
        page.say("verify/state", {"path": str(path), "revision": revision}, id=number)
    assert [page.hear("id")["result"]["status"] for _ in range(2)] == ["none", "none"]
    begun = time.monotonic()
    page.say("verify/begin", {"path": str(path), "fast": True}, id=200)
    assert {page.hear("id")["id"] for _ in range(51)} >= {150, 151, 200}
    assert time.monotonic() - begun < 10
    assert states(page, path)[-1]["status"] == "ended"


def test_page_text_is_verified_instead_of_the_file(page: Page, tmp_path: Path) -> None:
    """It has the unsaved changes with their results."""
    path = saved(tmp_path, notebook(cell("print(z)", 3)))
    ask(page, "begin", path, text=json.dumps(notebook(cell("print(1)", 1, "2\n"))))
    [finding] = states(page, path)[-1]["findings"]
    assert (finding["cell"]["label"], "2" in finding["evidence"]) == ("[1]", True)


def test_stopped_verification_ends_at_once_without_a_result(page: Page, tmp_path: Path) -> None:
    """Its cell would run for minutes; the next verification starts anew."""
    path = saved(tmp_path, notebook(cell("import time; time.sleep(100)", 1)))
    state = ask(page, "begin", path)
    while not state["all"]:
        state = ask(page, "state", path, revision=state["revision"])
    begun = time.monotonic()
    ask(page, "stop", path)
    assert states(page, path)[-1]["status"] == "none"
    assert time.monotonic() - begun < 10
    saved(tmp_path, notebook(cell("x = 1", 1)))
    ask(page, "begin", path)
    assert states(page, path)[-1]["ok"]


def test_verification_of_an_empty_file_reports_it_as_corrupt(page: Page, tmp_path: Path) -> None:
    """The page does not wait for ever."""
    path = saved(tmp_path, notebook(cell("x = 1", 1)))
    ask(page, "begin", path, fast=True)
    assert states(page, path)[-1]["ok"]
    path.write_text("")
    ask(page, "begin", path, fast=True)
    assert states(page, path)[-1]["findings"][0]["kind"] == "corrupt"
