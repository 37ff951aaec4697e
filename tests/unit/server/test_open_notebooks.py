"""The inside: a notebook's file is merged with what a page reports, in many cases and with hostile files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest

from agentnb.kernel.code_runner import NotebookCell
from agentnb.server.comm.open_notebooks import CUT, OpenNotebooks, notebook_file, over
from tests.unit.server.lab_page import Page, cell


def page_cell(cell_id: str, source: str, kind: str = "code", **more: Any) -> NotebookCell:
    return NotebookCell(id=cell_id, kind=kind, count=None, source=source, **more)


def code(cell_id: str, source: str) -> Any:
    made = nbformat.v4.new_code_cell(source, id=cell_id, metadata={"tags": [cell_id]}, execution_count=1)
    made.outputs = [nbformat.v4.new_output("stream", text=f"output of {cell_id}\nü\n")]
    return made


def saved(*cells: Any) -> str:
    """Returns a notebook as Jupyter saves it."""
    made = nbformat.v4.new_notebook(cells=list(cells), metadata={"kernelspec": {"display_name": "é", "name": "p"}})
    return f"{nbformat.writes(made)}\n"


def sources(text: str) -> dict[str, str]:
    return {each.id: each.source for each in nbformat.reads(text, as_version=4).cells}


TWO = saved(code("a", "x = 1\ny = 2"), nbformat.v4.new_markdown_cell("# Title", id="b"))


@pytest.fixture
def page() -> Page:
    return Page()


def notebooks(page: Page, session: Path | str, *, attached: bool = True) -> OpenNotebooks:
    return OpenNotebooks(page.lab, attached=lambda: attached, environment={"JPY_SESSION_NAME": str(session)})


def text_for(agents: OpenNotebooks, path: Path) -> str:
    """Returns the text that an agent gets for *path*."""
    held, text = agents.unsaved(str(path)), path.read_text(encoding="utf-8")
    return text if held is None else held.over(text)


def test_merged_notebook_has_the_cells_of_the_page() -> None:
    """Outputs and metadata stay; the text is exactly what Jupyter would write."""
    three = saved(code("a", "x"), code("b", "y"), code("c", "z"))
    now = [
        page_cell("c", "z"),
        page_cell("n", "# new\nü", "markdown"),
        page_cell("m", "new"),
        page_cell("a", "x = 2\nprint(x)"),
    ]
    text = over(three, now)
    assert list(sources(text).items()) == [("c", "z"), ("n", "# new\nü"), ("m", "new"), ("a", "x = 2\nprint(x)")]
    made = nbformat.reads(text, as_version=4)
    nbformat.validate(made)
    assert text == f"{nbformat.writes(made)}\n"
    assert [each.get("outputs") for each in made.cells] == [code("c", "").outputs, None, [], code("a", "").outputs]
    assert made.cells[3].metadata.tags == ["a"]


def test_cut_cell_stays_as_saved_and_a_new_one_is_marked() -> None:
    """A reader must not take a part for the whole cell. A notebook without changes keeps its formatting."""
    text = over(
        TWO, [page_cell("a", "x =", cut=True), page_cell("n", "long", cut=True), page_cell("b", "# T", "markdown")]
    )
    assert sources(text) == {"a": "x = 1\ny = 2", "n": f"long\n{CUT}", "b": "# T"}
    text = json.dumps(json.loads(TWO), indent=4)
    assert over(text, [page_cell("a", "x = 1\ny = 2"), page_cell("b", "# Title", "markdown")]) == text


def test_cell_that_changes_its_kind_keeps_common_fields() -> None:
    """A code cell that becomes Markdown loses its outputs; half a surrogate pair, which JSON can hold, is kept."""
    text = over(TWO, [page_cell("a", "'\ud83d'", "markdown"), page_cell("b", "", "raw")])
    (made, _) = json.loads(text.encode())["cells"]
    assert (made["cell_type"], made["source"], made["metadata"]) == ("markdown", ["'\ud83d'"], {"tags": ["a"]})
    assert "outputs" not in made


def test_notebook_keeps_cells_beyond_the_reported_number() -> None:
    """Only the reported sources change."""
    text = saved(*(code(f"c{number}", "") for number in range(1_005)))
    now = [page_cell(f"c{number}", "new" if number == 7 else "") for number in range(1_000)]
    cell_sources = sources(over(text, now))
    assert (len(cell_sources), {name for name, source in cell_sources.items() if source}) == (1_005, {"c7"})


def test_cells_without_ids_are_matched_by_position() -> None:
    """Up to nbformat 4.4 the file has no cell ids; the page makes them up."""
    made = json.loads(saved(code("a", "a"), code("b", "b")))
    for each in made["cells"]:
        del each["id"]
    old = json.dumps({**made, "nbformat_minor": 4})
    now = [page_cell("r1", "a"), page_cell("r2", "B")]
    assert [each["source"] for each in json.loads(over(old, now))["cells"]] == [["a"], ["B"]]
    assert "r2" not in over(old, now)
    assert over(old, now[:1]) == old


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"nbformat": 3, "worksheets": []}',
        '{"nbformat": 4, "cells": [1]}',
        '{"nbformat": 4, "cells": [{"id": "a"}, {"id": "a"}]}',
        saved(code("x", "1"), code("y", "2")),
    ],
)
def test_unmatched_notebook_stays_as_saved(text: str) -> None:
    """Not a notebook, another format, duplicate ids, or another notebook of the same name."""
    assert over(text, [page_cell("a", "1"), page_cell("b", "2")]) == text


def test_agent_reads_the_page_notebook_while_it_is_unsaved(tmp_path: Path, page: Page) -> None:
    """From the first key until the save. Other files are as saved; the kernel's session locates the file."""
    path, other = tmp_path / "work/fit.ipynb", tmp_path / "work/other.ipynb"
    path.parent.mkdir()
    path.write_text(TWO, encoding="utf-8")
    other.write_text(TWO, encoding="utf-8")
    agents = notebooks(page, path)
    assert agents.unsaved(str(path)) is None
    now = [cell("a", "x = 3"), {**cell("b", "# Title"), "kind": "markdown"}]
    page.say(path="work/fit.ipynb", cells=now, unsaved=True)
    assert sources(text_for(agents, path)) == {"a": "x = 3", "b": "# Title"}
    assert text_for(agents, other) == TWO
    (tmp_path / "link.ipynb").symlink_to(path)
    assert agents.unsaved(str(tmp_path / "link.ipynb")) is not None
    page.say(path="work/fit.ipynb")
    assert agents.unsaved(str(path)) is None


def test_agent_reads_a_file_written_after_the_page_changed(tmp_path: Path, page: Page) -> None:
    """The agent reads back what it wrote, even before the page has reloaded it."""
    path = tmp_path / "fit.ipynb"
    path.write_text(TWO, encoding="utf-8")
    page.say(path="fit.ipynb", cells=[cell("a", "x = 3")], unsaved=True)
    later = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(later, later))
    page.say(path="fit.ipynb", active="a", unsaved=True)
    agents = notebooks(page, path)
    assert text_for(agents, path) == TWO
    assert agents.unsaved(str(path)) is not None
    os.utime(path, ns=(0, 0))
    page.say(path="fit.ipynb", cells=[cell("a", "x = 4")], unsaved=True)
    assert sources(text_for(agents, path)) == {"a": "x = 4"}


def test_last_page_to_report_a_notebook_counts(tmp_path: Path, page: Page) -> None:
    """The notebook was opened again, without its unsaved changes. Without any page nothing is unsaved."""
    path, now = tmp_path / "fit.ipynb", Page(page.lab, "c2")
    path.write_text(TWO, encoding="utf-8")
    page.say(path="fit.ipynb", cells=[cell("a", "lost")], unsaved=True)
    assert notebooks(page, path).unsaved(str(path)) is not None
    assert notebooks(page, path, attached=False).unsaved(str(path)) is None
    now.say(path="fit.ipynb", cells=[cell("a", "x = 1\ny = 2")])
    assert notebooks(now, path).unsaved(str(path)) is None
    page.say(path="elsewhere.ipynb", unsaved=True)
    assert notebooks(now, path).unsaved(str(path)) is None


@pytest.mark.parametrize(
    ("session", "server_path", "file"),
    [
        ("work/fit.ipynb", "work/fit.ipynb", "work/fit.ipynb"),
        ("work/fit.ipynb", "fit.ipynb", "work/fit.ipynb"),
        ("work/untitled.ipynb", "work/fit.ipynb", "work/fit.ipynb"),
        ("work/untitled.ipynb", "fit.ipynb", "work/fit.ipynb"),
        ("work/fit.ipynb", "work/other.ipynb", None),
        ("work/fit.ipynb", "elsewhere/fit.ipynb", None),
        ("work/untitled.ipynb", "elsewhere/fit.ipynb", None),
        ("work/untitled.ipynb", "work/gone.ipynb", None),
        ("work/fit.ipynb", "elsewhere/../work/fit.ipynb", None),
        ("work/fit.ipynb", "RTC:work/fit.ipynb", None),
        ("work/fit.ipynb", "", None),
    ],
)
def test_server_path_maps_to_a_file_through_the_session(
    tmp_path: Path, session: str, server_path: str, file: str | None
) -> None:
    """The kernel's own notebook, also after a rename in its folder; other paths are not guessed."""
    (tmp_path / "work").mkdir()
    for name in ("fit.ipynb", "other.ipynb"):
        (tmp_path / "work" / name).touch()
    assert notebook_file(str(tmp_path / session), server_path) == (None if file is None else tmp_path / file)
    for relative in ("", session, server_path):  # Jupyter gives the server's path if the page named no notebook
        assert notebook_file(relative, server_path) is None


def test_file_saved_by_the_user_in_a_time_range_is_known(page: Page, tmp_path: Path) -> None:
    """By the server's root folder if a notebook's path reveals it; otherwise by the end of the path."""
    (tmp_path / "work").mkdir()
    notebook = tmp_path / "work/fit.ipynb"
    notebook.write_text(TWO)
    (tmp_path / "work/data.csv").write_text("1")
    page.say(path="work/fit.ipynb", cells=[cell("a", "x")])
    for path, kind, was in (
        ("work/data.csv", "save", None),
        ("work/new.py", "rename", "work/old.py"),
        ("work/after", "rename", "work/before"),
        ("work/d", "save", None),
    ):
        page.say("saved", path=path, type=kind, was=was)
    heard = int(page.lab.saved[0][1] * 1000)
    for session in (notebook, ""):
        known = notebooks(page, session)
        names = [
            name
            for name in ("data.csv", "new.py", "old.py", "other.csv", "after/x", "before/d/x", "d/x")
            if known.was_saved(str(tmp_path / "work" / name), heard - 1000, heard + 60_000)
        ]
        assert names == ["data.csv", "new.py", "old.py", "after/x", "before/d/x"]
        assert not known.was_saved(str(tmp_path / "work/data.csv"), 0, heard - 1000)
    assert not notebooks(page, notebook).was_saved(str(tmp_path / "elsewhere/work/data.csv"), 0, heard + 60_000)


def test_file_is_autosaved_when_no_save_was_by_the_user(page: Page, tmp_path: Path) -> None:
    """A single save by the user counts as theirs; pages of older versions do not report autosaves."""
    page.say(path="work/fit.ipynb", cells=[cell("a", "x")])
    known = notebooks(page, "")
    path = str(tmp_path / "work/fit.ipynb")
    autosaved = [known.was_autosaved(path, 0, 2**60)]
    for more in ({"isAutomatic": True}, {}):
        page.say("saved", path="work/fit.ipynb", type="save", **more)
        autosaved.append(known.was_autosaved(path, 0, 2**60))
    assert (autosaved, known.was_saved(path, 0, 2**60)) == ([False, True, False], True)
