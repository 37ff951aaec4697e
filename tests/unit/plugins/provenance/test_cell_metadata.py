"""The key in a cell's metadata: anyone can write it, so it counts only if it fits the cell, and the log comes first."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agentnb
from tests.unit.plugins.provenance.conftest import cell_item, code, record, saved

SOURCE = "x = 1\n\ny = 2\nz = 3"
BEGINS = "claude sonnet-5.gguf 2026-11-18 0f3a91c2/77b01d4e 1-3 "
VALUE = BEGINS + hashlib.sha256(b"x = 1\n\ny = 2").hexdigest()[:8]


def read(folder: Path, source: str, value: str) -> agentnb.Provenance:
    return agentnb.provenance(saved(folder, code(source, id="a", metadata={"agentnb": value})))


@pytest.mark.parametrize(
    ("source", "lines", "is_edited"),
    [
        (SOURCE, ((1, 3, 0), (4, 4, None)), False),
        (f"{SOURCE}\nw = 4", ((1, 3, 0), (4, 5, None)), False),
        (SOURCE.replace("y = 2", "y = 20"), (), True),
        ("x = 1", (), True),
    ],
    ids=["as saved", "with a line of the user", "with a changed line", "without two lines"],
)
def test_saved_lines_count_until_one_is_changed(
    data: Path, source: str, lines: tuple[object, ...], *, is_edited: bool
) -> None:
    """The cell still counts as the agent's."""
    result = read(data.parent, source, VALUE)
    (cell,), (turn,) = result, result.turns
    assert (cell.lines, cell.is_edited, cell.agent_line_count) == (lines, is_edited, 2 if lines else 0)
    assert (turn.agent, turn.model, turn.is_kept, turn.from_notebook) == ("claude", "sonnet-5.gguf", False, True)


def test_log_takes_precedence_over_notebook_metadata(data: Path) -> None:
    """The log holds the conversation: its text in the cell is gone, whatever the metadata says."""
    record(data, "claude:/0f3a91c2-9a5c-4b6d-8c1e-5d2a7f3e9b10", cell_item("a", None, SOURCE))
    assert [*read(data.parent, "print('mine')", VALUE)] == []


@pytest.mark.parametrize(
    "nonsense",
    [
        "<img src=x onerror=alert(1)>",
        f"{BEGINS}deadbeef\n<script>",
        "claude - - a/b 99999999-1 00000000",
        "claude - - a/b 1-1048576 00000000",
        "claude - 2026-99-99 a/b 0 00000000",
        "; ".join([f"{BEGINS}00000000"] * 1000),
        "a" * 3_000_000,
        "агент - - a/b 1 00000000",
    ],
    ids=lambda nonsense: nonsense[:30],
)
def test_invalid_metadata_attributes_no_lines(data: Path, nonsense: str) -> None:
    """Hand-written, cut or hostile values."""
    assert all(each.lines == () and each.is_edited for each in read(data.parent, SOURCE, nonsense))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200), st.text(max_size=50))
def test_any_metadata_text_is_read_without_an_error(data: Path, value: str, source: str) -> None:
    """No name in it has a character that is special in HTML."""
    for each in read(data.parent, source, value).turns:
        assert not set(each.agent + each.model + each.session) & set("<>&\"'")
