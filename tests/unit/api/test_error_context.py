"""How an agent gets an error that a script caught."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from agentnb.api.attachments import describe
from tests.unit.api.conftest import PATIENCE

SCRIPT = """
from agentnb.api.attachments import describe
def ratio(x):
    return x / 0
try:
    ratio(3)
except ZeroDivisionError as error:
    print(describe(error).model_representation)
"""


def test_error_shows_source_lines_of_a_script_in_another_folder(tmp_path: Path) -> None:
    """The script is the user's code although it lies outside the workspace."""
    script, elsewhere = tmp_path / "programs/fit.py", tmp_path / "elsewhere"
    for folder in (script.parent, elsewhere):
        folder.mkdir()
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert "fit.py, line 4, in ratio:" in done.stdout
    assert ">    4 |     return x / 0\n" in done.stdout
    assert "      x = 3\n" in done.stdout


def test_error_without_a_traceback_shows_its_message() -> None:
    """For an exception that was never raised."""
    assert describe(ValueError("no such column")).model_representation == (
        "ValueError: ValueError\nValueError: no such column"
    )
