"""Real kernels of both kinds with agentnb loaded."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.kernel.running_kernel import RunningKernel
from tests.kernel.shared_kernels import SharedKernels

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test an empty data folder, since the agent used last is the default."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path_factory.mktemp("data")))


@pytest.fixture
def kernel(kernel_name: str, tmp_path: Path) -> Iterator[RunningKernel]:
    with RunningKernel.started(kernel_name, tmp_path) as running:
        loaded = running.run("%load_ext agentnb")
        assert loaded.status == "ok", loaded.error
        yield running


@pytest.fixture(scope="session")
def shared_kernels(kernelspecs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedKernels]:
    with contextlib.closing(SharedKernels(tmp_path_factory.mktemp)) as kernels:
        yield kernels


@pytest.fixture
def shared_kernel(kernel_name: str, shared_kernels: SharedKernels) -> Iterator[RunningKernel]:
    """A loaded kernel that earlier tests have used and left clean."""
    with shared_kernels.for_one_test(kernel_name) as running:
        yield running
