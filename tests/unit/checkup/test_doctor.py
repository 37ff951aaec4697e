"""The doctor: on the command line, from Python, and without Jupyter; what counts as a failure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import agentnb
from agentnb import __version__
from agentnb.errors import UnknownAgent
from tests.conftest import ROOT
from tests.unit.conftest import Site
from tests.unit.forked import run_agentnb

NEEDED = ["ipython", "ipywidgets", "anywidget", "traitlets", "markdown-it-py", "msgspec", "nest-asyncio"]
NEEDED += ["tree-sitter", "tree-sitter-bash"]
PAGES = ["ipykernel", "jupyterlab", "notebook", "sidecar"]
FILES = ["log", "policy", "site policy", "cassette", "confinement"]


def test_doctor_reports_jupyter_and_agents_as_json(kernelspecs: Path, site: Site, tmp_path: Path) -> None:
    """Versions, kernels, the front end, the files, the agents; a missing agent is a failure only if it is named."""
    site('[site.agents]\nallow = ["eliza", "/no/such/*"]\n')
    (tmp_path / "user/agents").mkdir(parents=True)
    description = 'name = "mine"\ntitle = "Mine"\ncommand = ["/no/such/agent"]\n'
    (tmp_path / "user/agents/mine.toml").write_text(description)
    done = run_agentnb("doctor", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    kernels = [name for name in rows if name.startswith("kernel ")]
    front = ["extension", "widgets"]
    agents = ["eliza", "mine"]
    assert list(rows) == ["python", "agentnb", *NEEDED, "plug-ins", *PAGES, *kernels, *front, *FILES, *agents]
    assert "kernel ipykernel7" in kernels
    assert rows["agentnb"]["version"] == __version__
    assert (rows["agentnb"]["kind"], rows["eliza"]["kind"]) == ("jupyter", "agent")
    assert (rows["kernel ipykernel7"]["state"], rows["jupyterlab"]["state"]) == ("ready", "ready")
    assert rows.pop("mine")["state"] == "missing"
    wrong = [row for row in rows.values() if row["state"] not in {"ready", "absent"}]
    assert done.returncode == bool(wrong)
    named = run_agentnb("doctor", "eliza", "mine")
    assert (named.returncode, [line.split()[0] for line in named.stdout.splitlines()][-2:]) == (1, agents)


def test_doctor_fails_and_names_a_broken_policy_file(tmp_path: Path) -> None:
    """The other checks still run."""
    (tmp_path / "policy.toml").write_text("[[rule", encoding="utf-8")
    done = run_agentnb("doctor", "jupyter", AGENTNB_CONFIG_DIR=str(tmp_path))
    line = next(line for line in done.stdout.splitlines() if line.startswith("policy"))
    assert (done.returncode, "broken" in line, str(tmp_path / "policy.toml") in line) == (1, True, True)
    assert "cassette" in done.stdout


def test_doctor_function_returns_the_named_rows_as_a_table() -> None:
    """As `%agents doctor` shows it."""
    table = agentnb.doctor("eliza")
    assert [(row.name, row.kind) for row in table] == [("eliza", "agent")]
    assert "| eliza | ready |" in table._repr_markdown_()
    with pytest.raises(UnknownAgent):
        agentnb.doctor("jupyter", "elisa")


def test_doctor_reports_that_jupyter_is_not_installed(tmp_path: Path) -> None:
    """In an environment with agentnb's code and little else."""
    for name in ("msgspec", "tomli"):  # Python 3.10 needs tomli
        if (spec := find_spec(name)) is not None and spec.origin is not None:
            shutil.copytree(Path(spec.origin).parent, tmp_path / name)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-S", "-m", "agentnb", "doctor", "jupyter", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    install = f'"{sys.executable}" -m pip install "jupyter-agentnb[lab]"'
    assert (rows["jupyter"]["state"], rows["jupyter"]["todo"]) == ("absent", install)
    assert (rows["ipython"]["state"], done.returncode) == ("missing", 1)
    assert [name for name in rows if name.startswith("kernel ")] == []
    assert rows["extension"]["state"] == "absent"
