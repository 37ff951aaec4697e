"""Notebooks with prompts to an agent that is installed only for the recording."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from tests.conftest import ROOT
from tests.kernel.running_kernel import without_ports

CELLS = (
    "%load_ext agentnb",
    "%agent -a opencode --permissions allow /write report.txt The fit converged.",
    "from pathlib import Path\nprint(Path('report.txt').read_text())",
    "%agent -a opencode -t other Hello",
    "turn = %agent -a opencode -t other What shall I do?",
    "turn.stop_reason",
)


def notebook(path: Path, *cells: str) -> Path:
    """Write a notebook without outputs."""
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, cell in enumerate(document.cells):
        cell["id"] = f"cell-{number}"
    nbformat.write(document, path)
    return path


def stand_in(folder: Path) -> dict[str, str]:
    """Returns an environment with eliza as `opencode`."""
    program = folder / "bin/opencode"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agentnb.plugins.eliza\n', encoding="utf-8")
    program.chmod(0o755)
    return {**without_agents(), "PATH": f"{program.parent}{os.pathsep}{bare_path()}"}


def bare_path() -> str:
    """Returns a PATH with only the system's programs and this Python's."""
    return os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])


def without_agents() -> dict[str, str]:
    whole = {**os.environ, "PATH": bare_path(), "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return {**whole, "AGENTNB_AGENT": "eliza"}  # not the last used agent, which npx would start


def run(
    *words: str, cwd: Path, env: dict[str, str] | None = None, seconds: int = 200
) -> subprocess.CompletedProcess[str]:
    """Run a Python module as a program, without agents."""
    command = [sys.executable, "-m", *words]
    whole = env or without_agents()
    return subprocess.run(
        command,
        cwd=cwd,
        env=whole,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )


def execute(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`jupyter nbconvert --execute --inplace`."""
    env = {**without_agents(), **environment}
    options = ("--to", "notebook", "--execute", "--inplace", "--ExecutePreprocessor.record_timing=False")
    return run("nbconvert", *options, path.name, cwd=path.parent, env=env)


def execute_here(path: Path, env: dict[str, str]) -> None:
    """Like `execute`, with the part of nbconvert that runs cells: only the kernel is a separate program."""
    document = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
        client = NotebookClient(
            document,
            record_timing=False,
            resources={"metadata": {"path": str(path.parent)}},
            config=Config(KernelManager=without_ports(sockets)),
        )
        client.execute(env=env)
    nbformat.write(document, path)


def record(path: Path) -> None:
    """Record the notebook's cassette, and store the outputs of a replay."""
    cassette = {"AGENTNB_CASSETTE": f"{path.stem}.cassette.jsonl"}
    execute_here(path, {**stand_in(path.parent), **cassette, "AGENTNB_CASSETTE_MODE": "record"})
    (path.parent / "bin/opencode").unlink()
    execute_here(path, {**without_agents(), **cassette, "AGENTNB_CASSETTE_MODE": "replay"})


PYTEST = ("pytest", "-q", "-p", "no:cacheprovider")
"""pytest as users run it, with all installed plugins."""
NAMED = (*PYTEST, "--disable-plugin-autoload", "-p", "agentnb.pytest_plugin")
"""pytest with named plugins only: importing the other notebook plugins takes half of such a run."""


def with_plugin(option: str) -> tuple[str, ...]:
    """Returns pytest's arguments for this option and its plugin."""
    return (*NAMED, "-p", option.removeprefix("--").removesuffix("-lax"), option)


def run_with(runner: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the notebook at *path* with a notebook runner; replays the cassette beside it, if there is one."""
    env = {**without_agents(), **environment}
    if runner in ("nbval", "nbval-lax", "nbmake"):
        return run(*with_plugin(f"--{runner}"), path.name, cwd=path.parent, env=env)
    if path.with_name(f"{path.stem}.cassette.jsonl").exists():
        env = {"AGENTNB_CASSETTE": f"{path.stem}.cassette.jsonl", "AGENTNB_CASSETTE_MODE": "replay", **env}
    if runner == "nbconvert":
        return execute(path, **{name: value for name, value in env.items() if name.startswith("AGENTNB_")})
    if runner == "papermill":
        return run("papermill", "--no-progress-bar", path.name, f"{path.stem}.out.ipynb", cwd=path.parent, env=env)
    return run("jupyter", "execute", path.name, cwd=path.parent, env=env)
