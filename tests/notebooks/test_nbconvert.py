"""nbconvert: execution without a front end, and reading without a kernel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat

from tests.conftest import ROOT

QUICKSTART = ROOT / "notebooks/quickstart.ipynb"


def convert(folder: Path, *options: str) -> None:
    """Run ``jupyter nbconvert`` on the quickstart."""
    command = [sys.executable, "-m", "nbconvert", *options, "--output-dir", str(folder), str(QUICKSTART)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_nbconvert_execute_gives_the_stored_outputs(tmp_path: Path) -> None:
    convert(tmp_path, "--execute", "--to", "notebook")
    assert _markdown(tmp_path / "quickstart.ipynb") == _markdown(QUICKSTART)


def test_nbconvert_html_contains_the_answers(tmp_path: Path) -> None:
    """Plain HTML cannot show a widget, so it has the answers."""
    convert(tmp_path, "--to", "html")
    page = (tmp_path / "quickstart.html").read_text(encoding="utf-8")
    assert "widget-view" not in page
    assert "Reject once" in page


def _markdown(path: Path) -> list[str]:
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return [output.data["text/markdown"] for output in outputs if "text/markdown" in output.get("data", {})]
