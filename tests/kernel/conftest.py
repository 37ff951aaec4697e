"""Real kernels, of both kinds, with agentnb loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernel.running_kernel import RunningKernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def kernel(kernel_name: str, tmp_path: Path) -> Iterator[RunningKernel]:
    """A kernel with agentnb loaded, once of each kind."""
    with RunningKernel.started(kernel_name, tmp_path) as running:
        loaded = running.run("%load_ext agentnb")
        assert loaded.status == "ok", loaded.error
        yield running
