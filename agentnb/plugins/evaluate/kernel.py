"""A fresh kernel and the notebook of a task, for the agent's kernel tools: no page shows them."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, Any

from agentnb.kernel.code_runner import NotebookCell, NotebookView
from agentnb.kernel.rehearsal_result import Rehearsal
from agentnb.plugins.branches.kernel_copy import KernelCopy, fresh_kernel, replay_command
from agentnb.plugins.branches.notebook_copy import NotebookCopy
from agentnb.plugins.branches.runner import BranchRunner, BranchShell, BranchThread, NoMentions, branch_environment
from agentnb.plugins.rehearsal.command import rehearse_command
from agentnb.plugins.verify.notebook_text import read_file, read_notebook
from agentnb.plugins.verify.run import end_all, start_silent
from agentnb.safe_json import read_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentnb.host.environment import Environment


class TaskKernel:
    """A separate kernel, with the notebook of a task; *is_closed_in* if what its code does stays in the workspace."""

    def __init__(self, workspace: Path, notebook: str, hidden: Sequence[str], title: str) -> None:
        self._path = workspace / notebook
        text = read_file(self._path)
        self._before: dict[str, Any] = read_json(text)
        self._notebook = NotebookCopy(_view(text, notebook, self._path))
        self.is_closed_in: bool = rehearse_command("true", workspace).available
        here = (str(workspace), str(workspace))
        self._kernel = fresh_kernel(workspace, [here], hidden) if self.is_closed_in else open_kernel(workspace)
        self._thread = BranchThread()
        self._runner = BranchRunner(self._kernel, self._notebook, self._thread.job_queue, title)

    def environment(self, environment: Environment) -> Environment:
        """Returns the host's environment, adapted to a conversation with this kernel."""
        return branch_environment(environment, BranchShell(self._runner, NoMentions()), self._thread)

    def save(self) -> None:
        """Write the notebook as the kernel tools left it into the workspace, if they changed it."""
        if self._notebook.view.cells != self._notebook.before.cells:
            content = {**self._before, "cells": _merged(self._before["cells"], self._notebook.as_json()["cells"])}
            self._path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")

    def close(self) -> None:
        self._kernel.close()
        self._thread.close()


def _view(text: str, name: str, path: Path) -> NotebookView:
    cells = [
        NotebookCell(id=each.id, kind=each.kind, source=each.source, tags=tuple(sorted(each.tags)))
        for each in read_notebook(text, path).cells
    ]
    return NotebookView(name=name, path=str(path), live=True, cells=tuple(cells))


def _merged(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the cells *after*; unchanged ones keep their outputs and metadata."""
    known = {each.get("id"): each for each in before}

    def source(cell: dict[str, Any]) -> str:
        text = cell.get("source", "")
        return "".join(text) if isinstance(text, list) else text

    def is_same(cell: dict[str, Any]) -> bool:
        old = known.get(cell["id"])
        return old is not None and (source(old), old.get("cell_type")) == (cell["source"], cell["cell_type"])

    return [known[each["id"]] if is_same(each) else each for each in after]


def open_kernel(workspace: Path) -> KernelCopy:
    """Open a kernel where nothing can be confined."""
    ours, theirs = socket.socketpair()
    with theirs:
        environment = {**os.environ, "TMPDIR": str(workspace.parent)}
        process = start_silent(replay_command(theirs.fileno()), workspace, environment, (theirs.fileno(),))

    def wait() -> Rehearsal:
        status = process.wait()
        end_all(process)
        return Rehearsal(exit_code=status, error=f"It ended with exit code {status}." if status else None)

    return KernelCopy(ours, wait, "replay")
