"""Kernels that many tests use one after another; each test starts from a freshly loaded extension."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import psutil

from tests.kernel.running_kernel import RunningKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BACK = """
for row in get_ipython().run_line_magic('agents', ''):
    get_ipython().run_line_magic('agents', f'close {row.name}')
get_ipython().reset(new_session=True)
"""
"""Removes sessions, agents, names and outputs; the next cell is the second one, as after ``%load_ext agentnb``."""
LEFT = """
[name for name in {*get_ipython().user_ns} - {*get_ipython().user_ns_hidden} if not name.startswith('__')]
"""
"""The user's names, without Python's, which begin with two underscores."""


def _words(process: psutil.Process) -> list[str]:
    """Returns a process's command line, or nothing if it has ended."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


class SharedKernels:
    """One kernel of each kind, started at first use."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._running: dict[str, RunningKernel] = {}
        self._ends = contextlib.ExitStack()

    @contextlib.contextmanager
    def for_one_test(self, kernel_name: str) -> Iterator[RunningKernel]:
        """Yields a clean kernel of the kind *kernel_name*."""
        running = self._running.pop(kernel_name, None) or self._started(kernel_name)
        yield running
        back = running.run(BACK)
        assert back.status == "ok", back.error
        agents = [words for each in running.descendants() if "eliza" in (words := _words(each))]
        assert (agents, running.run(LEFT).values) == ([], ["[]"])
        self._running[kernel_name] = running

    def _started(self, kernel_name: str) -> RunningKernel:
        running = self._ends.enter_context(RunningKernel.started(kernel_name, self._new_folder(kernel_name)))
        loaded = running.run("%load_ext agentnb")
        assert loaded.status == "ok", loaded.error
        return running

    def close(self) -> None:
        self._ends.close()
