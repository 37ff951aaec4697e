"""A notebook that cannot be isolated runs on a copy of its folder; the answer says what stays open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.unit.plugins.verify.notebooks import cell, notebook, saved

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="Linux only: namespaces")]

WITHOUT = [sys.executable, str(ROOT / "tests/agents/without_namespaces.py")]
NO_NAMESPACES = 77
VERIFY = """import agentnb, json, sys, msgspec
found = agentnb.verify("nb.ipynb", network=sys.argv[1:])
print(json.dumps(msgspec.to_builtins(found)))"""
LOOKS_UP = """import socket
try:
    socket.getaddrinfo("example.invalid", 80)
except OSError as error:
    print("refused" if error.errno == 101 else "tried")"""


@pytest.mark.parametrize("way", ["namespaces", "no namespaces", "no plug-in"])
def test_verify_isolates_a_notebook_as_far_as_possible(tmp_path: Path, way: str) -> None:
    """Files never change; on a copy only Python's own network requests are refused."""
    (tmp_path / "keep.txt").write_text("kept")
    writes = "with open('keep.txt', 'w') as file:\n    file.write('x')\nopen('new', 'w').close()\nprint('wrote')"
    cells = [cell(writes, 1, "wrote\n"), cell(LOOKS_UP, 2, "tried\n"), cell("print(gone)", 4, "1\n")]
    saved(tmp_path, notebook(*cells))
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    env = {**os.environ, "PYTHONPATH": str(ROOT), "AGENTNB_PLUGINS": "verify"}
    if way != "no plug-in":
        del env["AGENTNB_PLUGINS"]
    command = [*(WITHOUT if way == "no namespaces" else []), sys.executable, "-c", VERIFY]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    if done.returncode == NO_NAMESPACES:
        pytest.skip(f"namespaces cannot be forbidden here: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    if way == "namespaces" and result["way"] != "namespaces":
        pytest.skip("no user namespaces here")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    kinds = {each["cell"]["id"]: each["kind"] for each in result["findings"]}
    assert (kinds.pop("c2"), result["ran"]) == ("deleted-cell", 3)
    assert [*kinds] == ([] if way == "namespaces" else ["c1"])
    notes = [each for each in result["not_checked"] if "It was not isolated" in each]
    assert (result["way"], len(notes)) == (("namespaces", 0) if way == "namespaces" else ("copy", 1))
    assert way != "no namespaces" or "does not let users create namespaces" in notes[0]
    if way == "no namespaces":
        return  # runs in a copy, as without the plug-in
    command.append("example.invalid")
    allowed = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert {each["cell"]["id"] for each in json.loads(allowed.stdout)["findings"]} == {"c2"}
