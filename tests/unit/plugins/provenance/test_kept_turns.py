"""Real turns of a scripted agent in a notebook's page: their records and the log attribute the lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import agentnb
from agentnb.api.history_rows import ThisLog
from agentnb.errors import UsageError
from agentnb.host import Host
from agentnb.host.history.restore import recorder_of
from agentnb.host.history.storage import forget
from agentnb.log.store import LogStore
from agentnb.plugins.provenance.cell_metadata import SavedCell
from agentnb.plugins.provenance.kept_turns import KeptTurns, WantedNotebook
from agentnb.plugins.provenance.provenance import provenance_of
from agentnb.plugins.provenance.requests import PlacedParams, note_placed
from agentnb.plugins.provenance.result import LineRange, Provenance
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.test_permissions import Talk, work
from tests.unit.kernel.conftest import tools
from tests.unit.kernel.notebook_page import NotebookPage
from tests.unit.kernel.shell_tools import Tools

__all__ = ["tools", "work"]  # the fixtures


@pytest.fixture
def host(tmp_path: Path, tools: Tools, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """Returns a host with a log, and a kernel whose notebook a page has open."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    host = Host(log=tmp_path / "log/sessions.db")
    host.environment.connect(attached=lambda: True, shell=tools)
    yield host
    host.close()


@pytest.fixture
def page() -> Iterator[NotebookPage]:
    page = NotebookPage("fit.ipynb", {"a": "import math\nx = 1", "b": "print(x)"})
    yield page
    page.close()


def talk_to(host: Host, work: Path) -> Talk:
    return Talk(host, work, "allow", name="analyst", script="calls_kernel", kernel_tools=True)


def cells(page: NotebookPage) -> list[SavedCell]:
    return [SavedCell(id=each["id"], source=each["source"]) for each in page.cells]


def log_of(host: Host) -> ThisLog:
    return ThisLog(recorder_of(host).store, host)


def looked_at(host: Host, page: NotebookPage, path: Path | None = None) -> Provenance:
    return provenance_of(cells(page), path, log_of(host))


def test_agent_lines_keep_their_turn_after_edits_by_the_user(host: Host, work: Path, page: NotebookPage) -> None:
    """Two turns and the user change one cell; then the second turn is undone."""
    talk = talk_to(host, work)
    replaced = ["replace_cell", {"cell": "a", "source": "import math\nx = 2\ny = math.sqrt(x)"}]
    talk.prompt({"start": replaced}, {"end": 1}).wait(PATIENCE)
    page.type("a", "import math\nx = 2\ny = math.sqrt(x)\nz = x + y")
    more = "import math\nx = 2\ny = math.sqrt(x)\nz = x + y\n\nprint(z)"
    calls = [["cells", {}], ["replace_cell", {"cell": "a", "source": more}]]
    second = talk.prompt(*(step for call in calls for step in ({"start": call}, {"end": 1}))).wait(PATIENCE)
    assert second.text.split() == ["true", "true"]
    (cell,) = looked_at(host, page)
    assert cell.lines == (LineRange(1, 1, None), LineRange(2, 3, 0), LineRange(4, 4, None), LineRange(6, 6, 1))
    assert (cell.turns, cell.is_edited, cell.agent_line_count) == ((0, 1), False, 3)
    provenance = looked_at(host, page)
    assert [(each.agent, each.number, each.is_kept) for each in provenance.turns] == [
        ("analyst", 1, True),
        ("analyst", 2, True),
    ]
    assert provenance.turns[0].prompt.startswith('[{"start": ["replace_cell"')
    assert len(provenance.turns[0].prompt) <= 80
    page.cells.insert(1, {"id": "new", "kind": "code", "source": "y = math.sqrt(x)\nz = x + y\n\nprint(z)", "tags": []})
    page.type("a", "import math\nx = 2")
    one, other = looked_at(host, page)
    assert (one.lines, one.is_edited) == ((LineRange(1, 1, None), LineRange(2, 2, 0)), False)
    assert other.lines == (LineRange(1, 1, 0), LineRange(2, 2, None), LineRange(4, 4, 1))
    page.type("new", "y = math.sqrt(x + 1)\nz = x + y\n\nprint(z)")
    (_, other) = looked_at(host, page)
    assert (other.lines[-1], other.is_edited) == (LineRange(4, 4, 1), True)
    page.cells.pop(1)
    page.type("a", more)
    second.undo()
    (cell,) = looked_at(host, page)
    assert cell.turns == (0,)
    assert page.texts()["a"].endswith("z = x + y")


def test_inserted_cell_keeps_its_author_when_the_user_types(host: Host, work: Path, page: NotebookPage) -> None:
    """The turn's record of the cell then begins with the user's text; its tool calls add the rest."""
    talk = talk_to(host, work)
    insert = ["insert_cell", {"source": "total = sum(range(100))", "below": "b"}]
    talk.prompt({"start": insert}, {"end": 1}).wait(PATIENCE)
    (cell,) = looked_at(host, page)
    assert cell.lines == (LineRange(1, 1, 0),)
    page.type(cell.id, "total = sum(range(100))\nprint(total)")
    (cell,) = looked_at(host, page)
    assert (cell.lines, cell.is_edited) == ((LineRange(1, 1, 0), LineRange(2, 2, None)), True)


def place(host: Host, talk: Talk, turn_id: str, cell: str, *texts: str | None) -> None:
    """Sends the page's message after *Insert below* or *Replace the active cell*."""
    uri = talk.conversation.session.uri
    before, after = texts
    params = PlacedParams(
        channel=uri, turn_id=turn_id, cell_id=cell, notebook="fit.ipynb", before=before, after=after or ""
    )
    host.loop.submit(note_placed(host, params)).result(PATIENCE)


def test_code_inserted_from_an_answer_belongs_to_its_turn(host: Host, work: Path, page: NotebookPage) -> None:
    """The first turn itself changed nothing; text typed before the click and later edits stay the user's."""
    talk = talk_to(host, work)
    first = talk.prompt({"start": ["cells", {}]}, {"end": 1}).wait(PATIENCE)
    second = talk.prompt({"start": ["insert_cell", {"source": "import os"}]}, {"end": 1}).wait(PATIENCE)
    taken = "total = sum(range(100))\nprint(total)"
    page.cells.append({"id": "new", "kind": "code", "source": taken, "tags": []})
    page.tell()
    place(host, talk, first.id, "new", None, taken)
    replaced = "import math\nx = 2\ny = math.sqrt(x)"
    page.type("a", replaced)
    place(host, talk, second.id, "a", "import math\nx = 1", replaced)
    cells_by_id = {each.id: each for each in looked_at(host, page)}
    turns = looked_at(host, page).turns
    assert cells_by_id["a"].lines == (LineRange(1, 1, None), LineRange(2, 3, cells_by_id["a"].turns[0]))
    assert turns[cells_by_id["a"].turns[0]].number == 2
    assert (cells_by_id["new"].agent_line_count, turns[cells_by_id["new"].turns[0]].number) == (2, 1)
    assert not cells_by_id["new"].is_edited
    page.type("new", f"{taken}\nprint('mine')")
    cells_by_id = {each.id: each for each in looked_at(host, page)}
    assert (cells_by_id["new"].lines[-1], cells_by_id["new"].is_edited) == (LineRange(3, 3, None), True)
    again = KeptTurns().about(WantedNotebook({"new"}, None), log_of(host).store)
    assert [each.turn.number for each in again] == [1, 2]
    with pytest.raises(UsageError, match="has no turn 'gone'"):
        place(host, talk, "gone", "new", None, "x")


def test_shell_shows_attribution_until_conversation_is_deleted(
    host: Host, work: Path, page: NotebookPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If only the log lost it, the agent's name remains, and the table explains the missing prompt."""
    talk = talk_to(host, work)
    talk.prompt({"start": ["insert_cell", {"source": "total = 5050"}]}, {"end": 1}).wait(PATIENCE)
    talk.session.turns[0].changes  # noqa: B018 - waits for them
    path = work / "fit.ipynb"
    content = [{"cell_type": "code", "id": each.id, "metadata": {}, "source": each.source} for each in cells(page)]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": content}))
    store = LogStore(recorder_of(host).store.path, "shell")
    monkeypatch.setenv("AGENTNB_LOG", str(store.path))
    result = agentnb.provenance(path)
    assert [each.name for each in result] == ["code cell 3"]
    assert result.turns[0].prompt != ""
    assert repr(result).splitlines()[1].startswith("code cell 3  1      analyst  1     20")
    assert repr(result).splitlines()[-1] == "Agents wrote 1 of 4 lines, in 1 of 3 cells."
    wanted = WantedNotebook({each.id for each in cells(page)}, path)
    (other,) = KeptTurns().about(wanted, None)
    assert (other.turn.is_kept, other.turn.agent, other.turn.prompt) == (False, "analyst", "")
    record = next(each for each in store.sessions() if each.uri == talk.conversation.session.uri)
    talk.session.close()
    host.loop.submit(forget(store, host.stores, [record])).result(PATIENCE)
    assert list(agentnb.provenance(path)) == []


def test_cells_written_to_the_file_belong_to_the_agent(host: Host, work: Path) -> None:
    """No page has the notebook open; its cells have no ids, as in old formats."""
    path = work / "old.ipynb"

    def text(*sources: str) -> str:
        cells = [{"cell_type": "code", "metadata": {}, "source": each, "outputs": []} for each in sources]
        return json.dumps({"nbformat": 4, "nbformat_minor": 2, "metadata": {}, "cells": cells})

    path.write_text(text("x = 1", "print(x)"))
    talk = Talk(host, work, "allow", name="writer", script="calls_kernel", kernel_tools=True)
    after = text("x = 1", "print(x)", "total = sum(range(100))")
    code = f"import pathlib\npathlib.Path({str(path)!r}).write_text({after!r})"
    talk.prompt({"start": ["run_code", {"code": code}]}, {"end": 1}).wait(PATIENCE)
    assert "old.ipynb" in repr(talk.session.turns[0].changes)
    saved_cells = [SavedCell(source=each) for each in ("x = 1", "print(x)", "total = sum(range(100))")]
    result = provenance_of(saved_cells, path, log_of(host))
    assert [(each.index, each.lines) for each in result] == [(2, (LineRange(1, 1, 0),))]
