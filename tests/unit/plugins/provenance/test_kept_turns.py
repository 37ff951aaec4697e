"""Real turns of a scripted agent in a notebook's page: the page and Python see who wrote which line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import agentnb
from tests.unit.api.conftest import PATIENCE
from tests.unit.forked import run_agentnb
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.plugins.provenance.conftest import code, saved
from tests.unit.server.asking_page import Page

HOSTILE = "<img src=x onerror=alert(1)>"
MODEL = {
    "id": "model",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "/home/me/models/sonnet-5.gguf",
    "options": [{"value": "/home/me/models/sonnet-5.gguf"}],
}


def calls(*tool_calls: list[Any]) -> list[dict[str, Any]]:
    """Returns the agent's steps: it makes these calls, one after the other."""
    return [step for call in tool_calls for step in ({"start": call}, {"end": 1})]


def done(session: agentnb.Session, *steps: dict[str, Any]) -> agentnb.Turn:
    return session.prompt(json.dumps(steps)).wait(PATIENCE)


class Marks:
    """What a page gets: the cells with lines by agents, by id, and the turns."""

    def __init__(self, page: Page, notebook: NotebookPage) -> None:
        cells = [{"id": each["id"], "source": each["source"]} for each in notebook.cells]
        result = page.ask("provenance/cells", {"path": "/nowhere/fit.ipynb", "cells": cells})["result"]
        self.turns = result["turns"]
        self.cells = {each["cell"]["id"]: each["cell"] for each in result["cells"]}
        self.saved = {each["cell"]["id"]: each["saved"] for each in result["cells"]}

    @property
    def lines(self) -> dict[str, list[list[int | None]]]:
        """Returns first line, last line and turn (none: the user), by cell."""
        return {name: [[*each] for each in cell["lines"]] for name, cell in self.cells.items()}

    def is_edited(self, cell: str) -> bool:
        return bool(self.cells[cell]["isEdited"])


ROOT_OF_X = "import math\nx = 2\ny = math.sqrt(x)"
MORE = f"{ROOT_OF_X}\nz = x + y\n\nprint(z)"


def test_agent_lines_keep_their_turn_after_edits_by_the_user(
    page: Page, analyst: agentnb.Session, notebook: NotebookPage
) -> None:
    """Two turns and the user change one cell; the user splits it and edits; then the second turn is undone."""
    done(analyst, *calls(["replace_cell", {"cell": "a", "source": ROOT_OF_X}]))
    notebook.type("a", f"{ROOT_OF_X}\nz = x + y")
    second = done(analyst, *calls(["cells", {}], ["replace_cell", {"cell": "a", "source": MORE}]))
    assert second.text.split() == ["true", "true"]
    marks = Marks(page, notebook)
    assert marks.lines == {"a": [[1, 1, None], [2, 3, 0], [4, 4, None], [6, 6, 1]]}
    assert (marks.cells["a"]["agentLineCount"], marks.is_edited("a")) == (3, False)
    assert [(each["agent"], each["number"]) for each in marks.turns] == [("analyst", 1), ("analyst", 2)]
    assert marks.turns[0]["prompt"].startswith('[{"start": ["replace_cell"')
    assert len(marks.turns[0]["prompt"]) <= 80
    rest = "y = math.sqrt(x)\nz = x + y\n\nprint(z)"
    notebook.cells.insert(1, {"id": "new", "kind": "code", "source": rest, "tags": []})
    notebook.type("a", "import math\nx = 2")
    marks = Marks(page, notebook)
    assert marks.lines == {"a": [[1, 1, None], [2, 2, 0]], "new": [[1, 1, 0], [2, 2, None], [4, 4, 1]]}
    assert not marks.is_edited("a")
    notebook.type("new", rest.replace("sqrt(x)", "sqrt(x + 1)"))
    marks = Marks(page, notebook)
    assert (marks.lines["new"][-1], marks.is_edited("new")) == ([4, 4, 1], True)
    notebook.remove("new")
    notebook.type("a", MORE)
    second.undo()
    assert Marks(page, notebook).lines["a"] == [[1, 1, None], [2, 3, 0], [4, 4, None]]
    assert notebook.texts()["a"].endswith("z = x + y")


def test_inserted_cell_keeps_its_author_when_the_user_types(
    page: Page, analyst: agentnb.Session, notebook: NotebookPage
) -> None:
    """The turn's record of the cell then begins with the user's text; its tool calls add the rest."""
    done(analyst, *calls(["insert_cell", {"source": "total = sum(range(100))", "below": "b"}]))
    ((name, lines),) = Marks(page, notebook).lines.items()
    assert lines == [[1, 1, 0]]
    notebook.type(name, "total = sum(range(100))\nprint(total)")
    marks = Marks(page, notebook)
    assert (marks.lines[name], marks.is_edited(name)) == ([[1, 1, 0], [2, 2, None]], True)


def place(page: Page, turn: agentnb.Turn, cell: str, before: str | None, after: str) -> dict[str, Any]:
    """Sends the page's message after *Insert below* or *Replace the active cell*."""
    channel = turn.session.chat.resource.removesuffix("/chat")
    params = {"channel": channel, "turnId": turn.id, "cellId": cell, "notebook": "fit.ipynb"}
    return page.ask("provenance/placed", {**params, "before": before, "after": after})


def test_code_inserted_from_an_answer_belongs_to_its_turn(
    page: Page, analyst: agentnb.Session, notebook: NotebookPage
) -> None:
    """The first turn itself changed nothing; text typed before the click and later edits stay the user's."""
    first = done(analyst, *calls(["cells", {}]))
    second = done(analyst, *calls(["insert_cell", {"source": "import os"}]))
    taken = "total = sum(range(100))\nprint(total)"
    notebook.cells.append({"id": "new", "kind": "code", "source": taken, "tags": []})
    notebook.tell()
    assert "result" in place(page, first, "new", None, taken)
    notebook.type("a", ROOT_OF_X)
    assert "result" in place(page, second, "a", "import math\nx = 1", ROOT_OF_X)
    marks = Marks(page, notebook)
    numbers = [each["number"] for each in marks.turns]
    assert marks.lines["a"] == [[1, 1, None], [2, 3, numbers.index(2)]]
    assert marks.lines["new"] == [[1, 2, numbers.index(1)]]
    assert not marks.is_edited("new")
    notebook.type("new", f"{taken}\nprint('mine')")
    marks = Marks(page, notebook)
    assert (marks.lines["new"][-1], marks.is_edited("new")) == ([3, 3, None], True)
    channel = first.session.chat.resource.removesuffix("/chat")
    params = {"channel": channel, "turnId": "gone", "cellId": "new", "notebook": "fit.ipynb", "after": "x"}
    assert "has no turn 'gone'" in page.ask("provenance/placed", params)["error"]["message"]


def test_metadata_is_one_short_line_without_prompt_or_path(
    page: Page, analyst: agentnb.Session, notebook: NotebookPage, tmp_path: Path
) -> None:
    """The user's lines do not change it; elsewhere, the notebook alone names the agent."""
    agentnb.settings().set("provenance_in_notebook", value=True)
    update = {"update": {"sessionUpdate": "config_option_update", "configOptions": [MODEL]}}
    replaced = calls(["cells", {}], ["replace_cell", {"cell": "a", "source": ROOT_OF_X}])
    done(analyst, update, {"say": "my password is hunter2"}, *replaced)
    value = Marks(page, notebook).saved["a"]
    day_and_ids = r"\d{4}-\d\d-\d\d [0-9a-f]{8}/[0-9a-f-]{8}"
    assert re.fullmatch(rf"analyst sonnet-5\.gguf {day_and_ids} 2-3 [0-9a-f]{{8}}", value)
    notebook.type("a", f"{ROOT_OF_X}\nw = 4")
    assert Marks(page, notebook).saved["a"] == value
    path = saved(tmp_path, code(ROOT_OF_X, id="a", metadata={"agentnb": value}))
    elsewhere = run_agentnb("provenance", str(path), "--json", AGENTNB_DATA_DIR=str(tmp_path / "elsewhere"))
    found = json.loads(elsewhere.stdout)
    assert (found["agentLineCount"], found["turns"][0]["model"]) == (2, "sonnet-5.gguf")
    assert found["turns"][0]["fromNotebook"] is True


def test_attribution_lasts_until_the_conversation_is_deleted(
    analyst: agentnb.Session, notebook: NotebookPage, tmp_path: Path
) -> None:
    """If only the log is gone, the agent's name remains, and the table explains the missing prompt."""
    turn = done(analyst, {"say": HOSTILE}, *calls(["insert_cell", {"source": "total = 5050"}]))
    assert len(turn.changes) == 1
    path = saved(tmp_path, *(code(each["source"], id=each["id"], execution_count=None) for each in notebook.cells))
    result = agentnb.provenance(path)
    assert [each.name for each in result] == ["code cell 3"]
    assert HOSTILE in result.turns[0].prompt
    assert "&lt;img" in result._repr_html_()
    assert "<img" not in result._repr_html_()
    activity = result.as_prov()["activity"]["nb:turn-1"]
    assert (activity["nb:number"], activity["prov:label"]) == (1, result.turns[0].prompt)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", activity["prov:endTime"])
    assert repr(result).splitlines()[1].startswith("code cell 3  1      analyst  1     20")
    assert repr(result).splitlines()[-1] == "Agents wrote 1 of 4 lines, in 1 of 3 cells."
    table = run_agentnb("provenance", str(path), AGENTNB_LOG="off").stdout
    assert "analyst" in table
    assert "its conversation was deleted, or is in another log" in table
    analyst.close()
    agentnb.forget(analyst.tab_id)
    assert list(agentnb.provenance(path)) == []


def test_cells_written_to_the_file_belong_to_the_agent(analyst: agentnb.Session, tmp_path: Path) -> None:
    """No page has the notebook open; its cells have no ids, as in old formats."""
    path = saved(tmp_path / "work", code("x = 1"), code("print(x)"), minor=2)
    before = path.read_text()
    after = saved(tmp_path / "work", code("x = 1"), code("print(x)"), code("total = sum(range(100))"), minor=2)
    text = after.read_text()
    path.write_text(before)
    run = ["run_code", {"code": f"import pathlib\npathlib.Path({str(path)!r}).write_text({text!r})"}]
    assert "nb.ipynb" in repr(done(analyst, *calls(run)).changes)
    assert [(each.index, each.lines) for each in agentnb.provenance(path)] == [(2, ((1, 1, 0),))]
