"""The stored notebooks can be compared and read without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.conftest import ROOT

NOTEBOOKS = sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("tests/notebooks/*.ipynb")])


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def cells(request: pytest.FixtureRequest) -> list[Any]:
    path: Path = request.param
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def test_stored_cells_have_run_in_order(cells: list[Any]) -> None:
    """Nbval compares only cells with an execution count: a stripped notebook would always pass."""
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


def test_every_prompt_has_exactly_one_output(cells: list[Any]) -> None:
    """Without a front end a turn has one markdown output."""
    kinds = [[_kind(output) for output in cell.outputs] for cell in cells if _is_prompt(cell)]
    assert kinds == [["display_data text/markdown"]] * len(kinds)


def test_stored_outputs_need_no_kernel(cells: list[Any]) -> None:
    outputs = [output for cell in cells for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "text/markdown", "text/html", "image/png"}


def test_stored_errors_have_no_traceback(cells: list[Any]) -> None:
    """A user's mistake shows no traceback: only the message, and a long message's first line again."""
    errors = [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    long = ["\n" in error.traceback[0] for error in errors]
    assert [error.traceback[1:] for error in errors] == [
        [error.traceback[0].splitlines()[0]] if is_long else [] for error, is_long in zip(errors, long, strict=True)
    ]


def _is_prompt(cell: Any) -> bool:
    return cell.source.lstrip("%").split(maxsplit=1)[:1] == ["agent"] and "raises-exception" not in cell.metadata.get(
        "tags", ()
    )


def _kind(output: Any) -> str:
    return f"{output.output_type} {'text/markdown' if 'text/markdown' in output.get('data', {}) else 'else'}"
