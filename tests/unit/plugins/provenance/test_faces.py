"""The command, the magic, JSON, PROV-JSON, HTML, and files that are not notebooks."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

import agentnb
from agentnb.errors import UsageError
from tests.unit.forked import run_agentnb, run_script
from tests.unit.plugins.provenance.conftest import cell_item, code, record, saved

HOSTILE = "<img src=x onerror=alert(1)>"


def command(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_agentnb("provenance", *words, cwd=data.parent)


@pytest.mark.slow
def test_provenance_command_prints_a_table_json_or_prov(data: Path) -> None:
    """For a notebook of another machine only the metadata is known."""
    metadata = {"agentnb": "claude sonnet-5 2026-11-28 aaaa/bbbb 1 f98c0e3b"}
    path = saved(data.parent, code("x = 1", id="a", metadata=metadata))
    done = command(data, path.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "claude, sonnet-5" in done.stdout
    assert json.loads(command(data, path.name, "--json").stdout)["turns"][0]["fromNotebook"] is True
    agents = json.loads(command(data, path.name, "--prov").stdout)["agent"].keys()
    assert agents == {"nb:agent-claude-sonnet-5", "nb:you"}
    path.write_text('{"cells": [{"cell_type": "co')
    broken = command(data, path.name)
    assert broken.returncode == 1
    assert "nb.ipynb is not a notebook: its JSON is damaged" in broken.stderr
    assert "Specify one notebook" in command(data).stderr
    assert "cannot be read" in command(data, "none.ipynb").stderr


MAGIC = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell()
shell.run_line_magic("load_ext", "agentnb")
print(shell.run_line_magic("agents", f"provenance {sys.argv[1]}"))
shell.run_line_magic("agents", "provenance a.ipynb b.ipynb")
"""


def test_notebook_without_log_and_metadata_has_no_rows(data: Path) -> None:
    """In Python, and for the magic."""
    path = saved(data.parent, code("x = 1"))
    result = agentnb.provenance(path)
    assert (list(result), result.line_count) == ([], 1)
    assert repr(result) == "No lines by agents were found."
    shown = run_script(MAGIC, str(path))
    assert repr(result) in shown.stdout
    assert "takes a notebook's path" in shown.stdout + shown.stderr


@pytest.mark.parametrize("log", ["off", "damaged", "missing"])
def test_foreign_and_damaged_records_are_read_without_a_log(
    data: Path, monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    """The workspace is absent, contents are not stored, the log is corrupt; a duplicate has the same turn."""
    (data.parent / "damaged").write_bytes(b"no database" * 100)
    monkeypatch.setenv("AGENTNB_LOG", log if log == "off" else str(data.parent / log))
    version = {"blob": "deadbeef", "digest": "d", "size": 3}
    change = {"path": "nb.ipynb", "after": version}
    file = {"id": "file:nb.ipynb", "kind": "file", "name": "nb.ipynb", "status": "added", "file": change}
    for session in ("claude:/1", "claude:/2"):
        record(data, session, cell_item("a", None, "x = 1\ny = 2"), file)
    (data / "changes/0123/records/damaged.json").write_text("{nonsense")
    result = agentnb.provenance(saved(data.parent, code("x = 1\ny = 2", id="a")))
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
    ids=lambda text: text[:20],
)
def test_corrupt_notebook_is_refused_with_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.ipynb"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"bad.ipynb is not a notebook"):
        agentnb.provenance(path)


def test_lines_are_found_in_each_cell_with_the_same_id(data: Path) -> None:
    """Two cells have one id, and one cell has none."""
    text = "x = 1\ny = total(2)"
    record(data, "old:/1", cell_item("a", "x = 1", text))
    result = agentnb.provenance(saved(data.parent, code(text, id="a"), code(text, id="a"), code("z = 1")))
    assert [(each.index, each.lines_of(0)) for each in result] == [(0, "2"), (1, "2")]


def test_attribution_of_2000_cells_takes_under_two_seconds(data: Path) -> None:
    """The usual case: most cells are the user's, and an agent wrote fifty."""
    sources = ["\n".join(f"value_{n}_{k} = compute({k})" for k in range(20)) for n in range(2_000)]
    record(data, "claude:/1", *(cell_item(f"c{n}", None, source) for n, source in enumerate(sources[:50])))
    path = saved(data.parent, *(code(source, id=f"c{n}") for n, source in enumerate(sources)))
    began = time.perf_counter()
    assert len(agentnb.provenance(path)) == 50
    assert time.perf_counter() - began < 2


def test_prov_json_declares_both_ends_of_each_relation(data: Path) -> None:
    """Every name in a relation is declared; types are qualified names, as the specification requires."""
    record(data, "claude:/1", cell_item("a", "x = 1", "x = 1\ny = 2"), model=f"sonnet-5 {HOSTILE}")
    result = agentnb.provenance(saved(data.parent, code("x = 1\ny = 2", id="a")))
    assert "<img" not in result._repr_html_()
    document = result.as_prov()
    declared = {name for kind in ("entity", "activity", "agent") for name in document[kind]}
    kinds = [kind for kind in document if kind.startswith(("was", "had", "acted"))]
    assert {name for kind in kinds for each in document[kind].values() for name in each.values()} <= declared
    assert document["wasGeneratedBy"] == {
        "_:wasGeneratedBy1": {"prov:entity": "nb:cell-1-lines-2-2", "prov:activity": "nb:turn-1"}
    }
    assert document["agent"]["nb:you"]["prov:type"] == {"$": "prov:Person", "type": "prov:QUALIFIED_NAME"}
    assert str(data.parent) not in json.dumps(document)
