"""The key in a cell's metadata: one line without secrets, and never trusted."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentnb.plugins.provenance.attribution import attributed
from agentnb.plugins.provenance.cell_metadata import SavedCell, from_metadata, to_metadata
from agentnb.plugins.provenance.line_ledger import CellChange
from agentnb.plugins.provenance.result import LineRange
from agentnb.plugins.provenance.turns import ProvenanceTurn, TurnStep, TurnSteps

TURN = ProvenanceTurn(
    session="claude:/0f3a91c2-9a5c-4b6d-8c1e-5d2a7f3e9b10",
    turn="77b01d4e-1c2d-4e5f-8a9b-0c1d2e3f4a5b",
    agent="claude",
    model="/home/me/models/sonnet-5.gguf",
    time=1_795_000_000_000,
    prompt="my password is hunter2",
    title="Secret plans",
)
SOURCE = "x = 1\n\ny = 2\nz = 3"
LINES = (LineRange(1, 3, 0), LineRange(4, 4, None))
SAVED = "claude sonnet-5.gguf 2026-11-18 0f3a91c2/77b01d4e 1-3 "


def test_metadata_is_one_short_line_without_prompt_or_path() -> None:
    """It is the same at each call: it holds nothing of a run."""
    saved = to_metadata(SOURCE, LINES, [TURN])
    assert saved.startswith(SAVED)
    assert len(saved) < 80
    assert saved == to_metadata(SOURCE, LINES, [TURN])
    (turn,) = from_metadata(saved, SOURCE)
    assert (turn.lines, turn.is_unchanged, turn.turn.model, turn.turn.is_kept) == (
        (0, 1, 2),
        True,
        "sonnet-5.gguf",
        False,
    )
    (cell,), turns = attributed([SavedCell(id="a", source=SOURCE, saved=saved)], [])
    assert (cell.lines, cell.is_edited, turns[0].from_notebook) == (LINES, False, True)


def test_changed_lines_are_not_attributed_to_the_agent() -> None:
    """The cell still counts as the agent's, and as edited."""
    saved = to_metadata(SOURCE, LINES, [TURN])
    (cell,), _ = attributed([SavedCell(id="a", source=SOURCE.replace("y = 2", "y = 20"), saved=saved)], [])
    assert (cell.lines, cell.is_edited, cell.agent_line_count) == ((), True, 0)
    (cell,), _ = attributed([SavedCell(id="a", source="x = 1", saved=saved)], [])
    assert (cell.lines, cell.is_edited) == ((), True)


def test_log_takes_precedence_over_notebook_metadata() -> None:
    """The log holds the conversation: its text in the cell is gone, whatever the metadata says."""
    saved = to_metadata(SOURCE, LINES, [TURN])
    kept = [TurnSteps(TURN, (TurnStep((CellChange("a", None, SOURCE),)),))]
    assert attributed([SavedCell(id="a", source="print('mine')", saved=saved)], kept) == ((), ())


@pytest.mark.parametrize(
    "nonsense",
    [
        "<img src=x onerror=alert(1)>",
        f"{SAVED}deadbeef\n<script>",
        "claude - - a/b 99999999-1 00000000",
        "claude - - a/b 1-1048576 00000000",
        "claude - 2026-99-99 a/b 0 00000000",
        "; ".join([f"{SAVED}00000000"] * 1000),
        "a" * 3_000_000,
        "агент - - a/b 1 00000000",
    ],
)
def test_invalid_metadata_attributes_no_lines(nonsense: str) -> None:
    """Hand-written, cut or hostile values."""
    cells, _ = attributed([SavedCell(id="a", source=SOURCE, saved=nonsense)], [])
    assert all(each.lines == () and each.is_edited for each in cells)


@given(st.text(max_size=200), st.text(max_size=50))
def test_any_metadata_text_is_read_without_an_error(saved: str, source: str) -> None:
    """No name in it has a character that is special in HTML."""
    for each in from_metadata(saved, source):
        assert not set(each.turn.agent + each.turn.model + each.turn.session) & set("<>&\"'")


def test_metadata_key_changes_one_line_of_the_notebook_file(
    tmp_path: Path,
) -> None:
    """Jupyter writes the file and git compares it; empty metadata gets its braces once."""
    path = tmp_path / "nb.ipynb"
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SOURCE, metadata={"tags": ["a"]}, id="a")])
    nbformat.write(document, path)

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", "nb.ipynb")
    document.cells[0].metadata["agentnb"] = to_metadata(SOURCE, LINES, [TURN])
    nbformat.validate(document)
    nbformat.write(document, path)
    assert git("diff", "--numstat").split()[:2] == ["1", "0"]
    git("add", "nb.ipynb")
    document.cells[0].metadata["agentnb"] = to_metadata(SOURCE, LINES, [TURN])
    nbformat.write(document, path)
    assert git("diff", "--numstat") == ""
    edited = f"{SOURCE}\nw = 4"
    document.cells[0].metadata["agentnb"] = to_metadata(edited, (LineRange(1, 3, 0), LineRange(4, 5, None)), [TURN])
    nbformat.write(document, path)
    assert git("diff", "--numstat") == ""
    assert json.loads(path.read_text())["cells"][0]["metadata"].keys() == {"agentnb", "tags"}
