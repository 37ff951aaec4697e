"""No process outlives the kernel, however it ends."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.kernel.running_kernel import WAIT_S

if TYPE_CHECKING:
    from tests.kernel.running_kernel import RunningKernel


@pytest.mark.parametrize("end", ["shutdown", "restart", "kill"])
def test_no_process_is_left_when_the_kernel_ends(end: str, kernel: RunningKernel) -> None:
    """For agents that are done, silent, or in mid-answer."""
    turns = ("/say Hello", "-t silent -b /hang", "-t speaks -b /slow 500 100")
    result = kernel.run("\n".join(f"%agent {turn}" for turn in turns), console=True)
    assert result.status == "ok", result.error
    below = kernel.descendants()
    assert below
    if end == "shutdown":
        kernel.manager.shutdown_kernel()
    elif end == "restart":
        kernel.manager.restart_kernel(now=False)
    else:
        os.kill(kernel.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(below, timeout=WAIT_S)
    assert [] == [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
