"""Nothing escapes from a rehearsal of code or a command, nor a confined agent, with namespaces or without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.confinement_here import WAY, WHY
from tests.conftest import ROOT
from tests.rehearsal_here import HERE
from tests.unit.plugins.around import around

pytestmark = pytest.mark.skipif(not HERE.available or WAY != "Landlock", reason=HERE.reason or WHY)
_SECRET = "hunter2-is-the-secret"
_ESCAPES = ROOT / "tests/agents/escapes.py"
_WITHOUT = [sys.executable, str(ROOT / "tests/agents/without_namespaces.py")]

_SCRIPTS = {
    "code": """
import sys, agentnb
sys.argv[:] = sys.argv[1:]
found = agentnb.rehearse(open(sys.argv[0]).read(), seconds=100)
print(found.way or found.reason, found.stdout, found.error, sep="\\n")
""",
    "command": """
import shlex, sys, agentnb
found = agentnb.rehearse(command=shlex.join([sys.executable, "-I", *sys.argv[1:]]), seconds=100)
print(found.way or found.reason, found.stdout, found.error, sep="\\n")
""",
    "agent": """
import os, subprocess, sys
from pathlib import Path
from agentnb.agent.confinement import Confine, Needs
from agentnb.plugins.sandbox.confinement import confinement_of
asked = Confine(network="none", directories=(os.path.dirname(sys.argv[1]),))
made = confinement_of(Needs(), sys.executable, Path.cwd(), asked, os.environ)
done = subprocess.run(made.command([sys.executable, "-I", *sys.argv[1:]]), capture_output=True, text=True)
print(made.way, done.stdout, done.stderr, sep="\\n")
""",
}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes a workspace below a home folder with a secret."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (".ssh", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / ".ssh/id_test").write_text(_SECRET)
    return tmp_path / "work"


@pytest.mark.parametrize("where", ["with namespaces", "without namespaces"])
@pytest.mark.parametrize("kind", ["code", "command", "agent"])
def test_every_escape_attempt_is_refused(workspace: Path, kind: str, where: str) -> None:
    """Every attempt of `tests/agents/escapes.py` is refused, and nothing outside receives any of it."""
    prefix = _WITHOUT if where == "without namespaces" else []
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with around(workspace) as words:
        command = [*prefix, sys.executable, "-c", _SCRIPTS[kind], str(_ESCAPES), *words]
        done = subprocess.run(command, cwd=workspace, env=env, capture_output=True, text=True, check=False)
    if prefix and done.returncode == 77:
        pytest.skip(f"namespaces cannot be forbidden here: {done.stderr.strip()}")
    way, *lines = done.stdout.splitlines()
    assert way == ("namespaces" if HERE.way == "namespaces" and not prefix and kind != "agent" else "Landlock"), done
    assert [line for line in lines if line.startswith("ESCAPED")] == []
    assert "done" in lines, done
    assert len([line for line in lines if line.startswith("refused")]) >= 39
    assert _SECRET not in done.stdout
