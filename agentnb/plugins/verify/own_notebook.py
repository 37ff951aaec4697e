"""The notebook of this kernel as its page has it, and what the kernel knows of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agentnb.errors import AgentnbError
from agentnb.host.environment import current_environment
from agentnb.plugins.verify.notebook_text import read_file
from agentnb.plugins.verify.static_check import LiveKernel

if TYPE_CHECKING:
    from agentnb.kernel.code_runner import CodeRunner


class OwnNotebook(NamedTuple):
    """The notebook, with the text that the page has."""

    path: Path
    text: str
    live: LiveKernel | None


def own_notebook(wanted: Path | None = None) -> OwnNotebook | None:
    """The notebook of this kernel; None where none is known, or *wanted* is another one."""
    runner = current_environment().code_runner()
    if runner is None:
        return None
    try:
        path = runner.notebook(outputs=False).path
    except AgentnbError:
        return None
    if path is None or (wanted is not None and Path(path) != wanted):
        return None
    return OwnNotebook(Path(path), current_text(Path(path)), live_kernel(runner))


def current_text(path: Path) -> str:
    """The notebook's text: what the page has and has not saved is in it."""
    saved = read_file(path)
    unsaved = current_environment().unsaved(str(path))
    return saved if unsaved is None else unsaved.over(saved)


def live_kernel(runner: CodeRunner) -> LiveKernel:
    """What the kernel has run, and the names that it has."""
    history = {cell.count: cell.source for cell in runner.executed_cells() if cell.count is not None}
    return LiveKernel(frozenset(runner.namespace.variables()), history)
