"""The GitHub Actions example of the docs: the test runs its steps unchanged in a fresh checkout."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.notebooks.recorded import CELLS, notebook, record, without_agents

PAGE = ROOT / "docs/how-to/ci.md"


def steps() -> list[dict[str, Any]]:
    text = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    workflow = yaml.safe_load(text[1])
    steps: list[dict[str, Any]] = workflow["jobs"]["notebooks"]["steps"]
    return steps


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that names another Python version, and its cassette."""
    path = notebook(tmp_path_factory.mktemp("made") / "fit.ipynb", *CELLS)
    record(path)
    text = path.read_text(encoding="utf-8")
    assert f'"version": "{platform.python_version()}"' in text
    path.write_text(text.replace(platform.python_version(), "3.0.0"), encoding="utf-8")
    return path


@pytest.fixture
def checkout(original: Path, tmp_path: Path) -> Path:
    """A repository with only these two files."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("fit.ipynb", "fit.cassette.jsonl"):
        shutil.copy(original.parent / name, folder)
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def shell(step: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as Actions does: bash, stopping at the first command that fails."""
    env = {**without_agents(), "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def test_github_actions_example_runs(checkout: Path) -> None:
    """Runs every command step; installed packages are not downloaded."""
    commands = [step for step in steps() if "run" in step]
    assert len(commands) == 4
    for step in commands:
        done = shell(step, checkout)
        assert done.returncode == 0, f"{step['run']}\n{done.stdout}\n{done.stderr}"
    assert (checkout / "fit.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    changed = subprocess.run(["git", "diff", "--numstat"], cwd=checkout, check=True, capture_output=True, text=True)
    assert changed.stdout == "1\t1\tfit.ipynb\n"


def test_github_actions_example_fails_for_a_changed_notebook(checkout: Path) -> None:
    path = checkout / "fit.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace("-t other Hello", "-t other Bye"), encoding="utf-8")
    commands = [step for step in steps() if "run" in step]
    assert [shell(step, checkout).returncode for step in commands[1:3]] == [1, 1]
