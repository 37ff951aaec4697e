"""How an agent gets an error that a script caught."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.forked import run_script

SCRIPT = """
import json
import agentnb
def ratio(x):
    return x / 0
try:
    ratio(3)
except ZeroDivisionError as error:
    caught = error
turn = agentnb.start().prompt("Look", context=[caught, ValueError("no such column")]).wait(60)
print(json.dumps([each.model_representation for each in turn.snapshot.message.attachments]))
"""


def test_error_in_the_context_has_source_lines_and_values(tmp_path: Path) -> None:
    """A script in another folder is the user's code, too; an exception that was never raised has its message."""
    script, elsewhere = tmp_path / "programs/fit.py", tmp_path / "elsewhere"
    for folder in (script.parent, elsewhere):
        folder.mkdir()
    script.write_text(SCRIPT, encoding="utf-8")
    done = run_script("import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')", str(script), cwd=elsewhere)
    caught, never_raised = json.loads(done.stdout)
    assert "fit.py, line 5, in ratio:" in caught
    assert ">    5 |     return x / 0\n" in caught
    assert caught.endswith("      x = 3")
    assert "ValueError: no such column" in never_raised
