"""The command, the magic, JSON, PROV-JSON, and files that are not notebooks."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb.errors import UsageError
from agentnb.plugins.provenance.attribution import attributed
from agentnb.plugins.provenance.cell_metadata import SavedCell
from agentnb.plugins.provenance.line_ledger import CellChange
from agentnb.plugins.provenance.plugin import PLUGIN
from agentnb.plugins.provenance.result import Provenance
from agentnb.plugins.provenance.turns import ProvenanceTurn, TurnStep, TurnSteps
from tests.unit.forked import run_agentnb

HOSTILE = "<img src=x onerror=alert(1)>"
TURN = ProvenanceTurn(
    session="claude:/1", turn="t", agent="claude", model="sonnet-5", number=3, time=0, prompt="Fit it"
)


def saved(folder: Path, *cells: dict[str, Any], **more: Any) -> Path:
    path = folder / "nb.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}))
    return path


def code(source: str, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": 1,
        **more,
    }


def result_of(turn: ProvenanceTurn, *cells: SavedCell, wrote: str) -> Provenance:
    kept = [TurnSteps(turn, (TurnStep((CellChange("a", "x = 1", wrote),)),))]
    attributed_cells, turns = attributed(cells, kept)
    return Provenance(attributed_cells, turns, notebook="/work/nb.ipynb", cell_count=len(cells), line_count=3)


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_agentnb("provenance", *words, cwd=folder, AGENTNB_DATA_DIR=str(folder / "data"))


@pytest.mark.slow
def test_provenance_command_prints_a_table_json_or_prov(tmp_path: Path) -> None:
    """For a notebook of another machine only the metadata is known."""
    path = saved(tmp_path, code("x = 1", metadata={"agentnb": "claude sonnet-5 2026-11-28 aaaa/bbbb 1 f98c0e3b"}))
    done = command(tmp_path, path.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "claude, sonnet-5" in done.stdout
    assert json.loads(command(tmp_path, path.name, "--json").stdout)["turns"][0]["fromNotebook"] is True
    assert json.loads(command(tmp_path, path.name, "--prov").stdout)["agent"].keys() == {
        "nb:agent-claude-sonnet-5",
        "nb:you",
    }
    path.write_text('{"cells": [{"cell_type": "co')
    broken = command(tmp_path, path.name)
    assert broken.returncode == 1
    assert "nb.ipynb is not a notebook: its JSON is damaged" in broken.stderr
    assert "Specify one notebook" in command(tmp_path).stderr
    assert "cannot be read" in command(tmp_path, "none.ipynb").stderr


def test_notebook_without_log_and_metadata_has_no_rows(tmp_path: Path) -> None:
    """There is no log and no metadata; the magic gives the same."""
    path = saved(tmp_path, code("x = 1"))
    result = agentnb.provenance(path)
    magic = PLUGIN.magics[0].run
    assert (list(result), result.line_count) == ([], 1)
    assert repr(result) == "No lines by agents were found."
    assert repr(magic(str(path))) == repr(result)
    with pytest.raises(UsageError, match="takes a notebook's path"):
        magic("a.ipynb b.ipynb")


@pytest.mark.parametrize("log", ["off", "damaged", "missing"])
def test_foreign_and_damaged_records_are_read_without_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    """The workspace is absent, contents are not stored, the log is corrupt; a duplicate has the same turn."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "damaged").write_bytes(b"no database" * 100)
    monkeypatch.setenv("AGENTNB_LOG", log if log == "off" else str(tmp_path / log))
    records = tmp_path / "data/changes/0123/records"
    records.mkdir(parents=True)
    (records / "damaged.json").write_text("{nonsense")
    cell = {"id": "cell:a", "kind": "cell", "name": "[1]", "status": "added", "after": "x = 1\ny = 2"}
    version = {"blob": "deadbeef", "digest": "d", "size": 3}
    change = {"path": "nb.ipynb", "after": version}
    file = {"id": "file:nb.ipynb", "kind": "file", "name": "nb.ipynb", "status": "added", "file": change}
    record = {"session": "claude:/1", "workspace": "/elsewhere", "turns": [{"turnId": "t", "items": [cell, file]}]}
    (records / "1.json").write_text(json.dumps(record))
    (records / "2.json").write_text(json.dumps({**record, "session": "claude:/2"}))
    result = agentnb.provenance(saved(tmp_path, code("x = 1\ny = 2")))
    assert [(each.lines_of(0), each.is_edited) for each in result] == [("1-2", False)]
    (turn,) = result.turns
    assert (turn.session, turn.agent, turn.is_kept) == ("claude:/1", "claude", False)
    assert ("log is off" in result.note) is (log == "off")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"cells": {}}',
        '{"cells": [1]}',
        "[" * 100_000,
        '{"cells": [' + '{"a": ' * 300 + "1" + "}" * 300 + "]}",
    ],
)
def test_corrupt_notebook_is_refused_with_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.ipynb"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"bad.ipynb is not a notebook"):
        agentnb.provenance(path)


def test_html_escapes_text_of_agents() -> None:
    """Prompts, names and models are untrusted."""
    turn = ProvenanceTurn(session="a:/1", turn="t", agent="evil", model=HOSTILE, prompt=HOSTILE)
    html = result_of(turn, SavedCell(id="a", source="x = 1\ny = 2"), wrote="x = 1\ny = 2")._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html


def test_lines_are_found_in_each_cell_with_the_same_id() -> None:
    """Two cells have one id, and one cell has none."""
    gone = ProvenanceTurn(session="a:/1", turn="t", agent="old", is_kept=False)
    cells = [
        SavedCell(id="a", source="x = 1\ny = total(2)"),
        SavedCell(id="a", source="x = 1\ny = total(2)"),
        SavedCell(source="z = 1"),
    ]
    result = result_of(gone, *cells, wrote="x = 1\ny = total(2)")
    assert [(each.index, each.lines_of(0)) for each in result] == [(0, "2"), (1, "2")]
    assert "its conversation was deleted, or is in another log" in repr(result)


def test_attribution_of_2000_cells_takes_under_two_seconds() -> None:
    """The usual case: most cells are the user's, and an agent wrote fifty."""
    cells = [
        SavedCell(id=f"c{n}", source="\n".join(f"value_{n}_{k} = compute({k})" for k in range(20)))
        for n in range(2_000)
    ]
    kept = [TurnSteps(TURN, (TurnStep((CellChange(each.id, None, each.source),)),)) for each in cells[:50]]
    began = time.perf_counter()
    attributed_cells, _ = attributed(cells, kept)
    assert len(attributed_cells) == 50
    assert time.perf_counter() - began < 2


def test_prov_json_declares_both_ends_of_each_relation(tmp_path: Path) -> None:
    """Every name in a relation is declared; types are qualified names, as the specification requires."""
    result = result_of(TURN, SavedCell(id="a", source="x = 1\ny = 2", count=4), wrote="x = 1\ny = 2")
    document = result.as_prov()
    declared = {name for kind in ("entity", "activity", "agent") for name in document[kind]}
    relations = [
        each for kind in document for each in document[kind].values() if kind.startswith(("was", "had", "acted"))
    ]
    assert {name for each in relations for name in each.values()} <= declared
    assert document["wasGeneratedBy"] == {
        "_:wasGeneratedBy1": {"prov:entity": "nb:cell-1-lines-2-2", "prov:activity": "nb:turn-1"}
    }
    assert document["activity"]["nb:turn-1"]["prov:endTime"] == "1970-01-01T00:00:00+00:00"
    assert document["agent"]["nb:you"]["prov:type"] == {"$": "prov:Person", "type": "prov:QUALIFIED_NAME"}
    assert "/work" not in json.dumps(document)
