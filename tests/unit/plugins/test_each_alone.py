"""With one plug-in alone, and with none, the core does what every user needs."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.unit.forked import run_script

OURS = sorted(each.name for each in entry_points(group="agentnb.plugins") if each.value.startswith("agentnb.plugins."))
CORE = """
import agentnb
from pathlib import Path
from agentnb.plugin_registry import plugins

asked = []
def allow(request):
    asked.append(request.title)
    return "allow"

Path("notes.txt").write_text("old\\n")
session = agentnb.start("eliza", permissions=allow)
long = session.prompt("/slow 100000 20")
next(iter(long))
print("streams", not long.done)
long.cancel()
long.wait(60, check=False)
turn = session.prompt("/write notes.txt new").wait(60)
print("asked", len(asked), Path("notes.txt").read_text().strip())
turn.undo()
print("undone", Path("notes.txt").read_text().strip())
print("loaded", *plugins().loaded, *plugins().problems)
"""


@pytest.mark.parametrize("plugin", ["", *OURS])
def test_core_works_with_at_most_one_plugin(tmp_path: Path, plugin: str) -> None:
    own = {name: str(tmp_path / name) for name in ("AGENTNB_CONFIG_DIR", "AGENTNB_DATA_DIR")}
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    done = run_script(CORE, cwd=workspace, AGENTNB_PLUGINS=plugin, **own)
    lines = ["streams True", "asked 1 new", "undone old", f"loaded {plugin}".strip()]
    assert done.stdout.splitlines() == lines, done.stderr


def test_plugins_have_the_names_of_their_folders() -> None:
    folders = {path.parent.name for path in (ROOT / "agentnb/plugins").glob("*/plugin.py")}
    assert folders == {*OURS}
