"""Real kernels: the installed ipykernel, and ipykernel 6.30, which handles one shell message at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from running_kernel import RunningKernel

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
OLD_KERNEL = "ipykernel==6.30.1"  # 6.30.0 is excluded by JupyterLab


@pytest.fixture(scope="session")
def old_ipykernel() -> Path:
    """A folder that holds ipykernel 6.30, to stand before everything else on ``sys.path``.

    ``AGENTNB_IPYKERNEL6`` names one that exists already; otherwise it is installed once into ``.cache``.
    """
    given = os.environ.get("AGENTNB_IPYKERNEL6")
    folder = Path(given) if given else ROOT / ".cache" / "ipykernel6"
    if not (folder / "ipykernel").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), OLD_KERNEL]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"{OLD_KERNEL} cannot be installed here: {done.stderr.strip()[-300:]}")
    return folder


@pytest.fixture(params=["installed", "6.30"])
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningKernel]:
    """A kernel with agentnb loaded, once of each kind."""
    paths = [str(ROOT)]
    if request.param == "6.30":
        paths.insert(0, str(request.getfixturevalue("old_ipykernel")))
    with RunningKernel.started(tmp_path, paths) as running:
        loaded = running.run("%load_ext agentnb")
        assert loaded.status == "ok", loaded.error
        yield running


@pytest.fixture
def new_kernel(tmp_path: Path) -> Iterator[RunningKernel]:
    """A kernel of the installed kind with agentnb loaded."""
    with RunningKernel.started(tmp_path, [str(ROOT)]) as running:
        assert running.run("%load_ext agentnb").status == "ok"
        yield running
