"""The doctor: on the command line, from Python, and without Jupyter; what counts as a failure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

import agentnb
from agentnb import __version__
from agentnb.acp.doctor import Checkup
from agentnb.checkup.examination import examine, is_well
from agentnb.checkup.packages import NEEDED, PAGES, outside, ranges
from agentnb.errors import UnknownAgent
from tests.conftest import ROOT
from tests.unit.forked import run_agentnb

FILES = ["log", "policy", "site policy", "cassette", "confinement"]


def test_doctor_reports_jupyter_and_agents_as_json(kernelspecs: Path) -> None:
    """Versions, kernels, the front end, the files; also agents if named."""
    done = run_agentnb("doctor", "jupyter", "eliza", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    kernels = [name for name in rows if name.startswith("kernel ")]
    assert list(rows) == [
        "python",
        "agentnb",
        *NEEDED,
        "plug-ins",
        *PAGES,
        *kernels,
        "extension",
        "widgets",
        *FILES,
        "eliza",
    ]
    assert "kernel ipykernel7" in kernels
    assert rows["agentnb"]["version"] == __version__
    assert (rows["agentnb"]["kind"], rows["eliza"]["kind"]) == ("jupyter", "agent")
    assert (rows["kernel ipykernel7"]["state"], rows["jupyterlab"]["state"]) == ("ready", "ready")
    wrong = [row for row in rows.values() if row["state"] not in {"ready", "absent"}]
    assert done.returncode == bool(wrong)


def test_doctor_fails_and_names_a_broken_policy_file(tmp_path: Path) -> None:
    """The other checks still run."""
    (tmp_path / "policy.toml").write_text("[[rule", encoding="utf-8")
    done = run_agentnb("doctor", "jupyter", AGENTNB_CONFIG_DIR=str(tmp_path))
    line = next(line for line in done.stdout.splitlines() if line.startswith("policy"))
    assert (done.returncode, "broken" in line, str(tmp_path / "policy.toml") in line) == (1, True, True)
    assert "cassette" in done.stdout


def test_doctor_function_returns_the_same_table() -> None:
    """The table of `agentnb.doctor()`, and so of `%agents doctor`."""
    table = agentnb.doctor("jupyter")
    assert [row.name for row in table if row.kind == "jupyter"][:2] == ["python", "agentnb"]
    assert "| agentnb | ready |" in table._repr_markdown_()
    assert "%agent -a" not in repr(table)


async def test_doctor_checks_only_the_named_agents() -> None:
    assert [row.name for row in await examine(["eliza"])] == ["eliza"]
    with pytest.raises(UnknownAgent):
        await examine(["jupyter", "elisa"])


def test_missing_agent_fails_only_when_named() -> None:
    """Problems of Jupyter always count, named or not."""
    missing = Checkup(name="x", title="X", state="missing")
    assert [is_well(missing, named=named) for named in (True, False)] == [False, True]
    jupyter = msgspec.structs.replace(missing, kind="jupyter")
    assert [is_well(jupyter, named=named) for named in (True, False)] == [False, False]
    assert is_well(msgspec.structs.replace(jupyter, state="absent"), named=True)


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
    assert (rows["jupyter"]["state"], rows["jupyter"]["todo"]) == (
        "absent",
        f'"{sys.executable}" -m pip install "jupyter-agentnb[lab]"',
    )
    assert (rows["ipython"]["state"], done.returncode) == ("missing", 1)
    assert [name for name in rows if name.startswith("kernel ")] == []
    assert rows["extension"]["state"] == "absent"


def test_versions_are_compared_with_agentnbs_requirements() -> None:
    """In its own metadata."""
    versions = ranges()
    assert {*NEEDED, *PAGES} <= versions.keys()
    assert [outside(version, versions["ipykernel"]) for version in ("6.29.5", "6.30", "7.4.0")] == [True, False, False]
    assert [outside(version, versions["anywidget"]) for version in ("0.10.9", "0.11.0", "1.0.0")] == [True, False, True]
    assert not outside("7", "")
