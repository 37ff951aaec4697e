"""The IPython shell as the host uses it: it runs agents' code, and has what prompts can mention."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentnb.host.environment import current_environment
from agentnb.ipython.cell_outputs import outputs_of

if TYPE_CHECKING:
    from agentnb.ipython.shell_code_runner import ShellCodeRunner
    from agentnb.ipython.shell_mentions import ShellMentions
    from agentnb.kernel.job_queue import JobQueue


class ConnectedShell:
    """One shell (:class:`agentnb.host.environment.Shell`)."""

    def __init__(self, ip: Any, job_queue: JobQueue) -> None:
        self.ip = ip
        self._job_queue = job_queue

    @cached_property
    def code_runner(self) -> ShellCodeRunner:
        """Runs code as a cell is run, on the main thread."""
        from agentnb.ipython.shell_code_runner import ShellCodeRunner

        return ShellCodeRunner(self.ip, self._connected_queue)

    @cached_property
    def mentions(self) -> ShellMentions:
        from agentnb.ipython.shell_mentions import ShellMentions

        return ShellMentions(self.ip, self._connected_queue)

    def cell_ended(self, result: Any) -> None:
        """IPython's ``post_run_cell``."""
        error = result and (result.error_before_exec or result.error_in_exec)
        if error is not None and result.execution_count is not None:
            self.remember(error, result.execution_count, getattr(result.info, "cell_id", None))

    def remember(self, error: BaseException, count: int | None = None, cell_id: str | None = None) -> None:
        """Record an error for ``@error``; the module that describes errors is loaded with the first."""
        from agentnb.ipython.cell_errors import errors_of

        errors_of(self.ip).remember(error, count, cell_id)

    @cached_property
    def _connected_queue(self) -> JobQueue:
        """The queue, which from now on runs its jobs whenever the shell runs no cell."""
        from agentnb.ipython.shell_code_runner import connect_job_queue

        connect_job_queue(self.ip, self._job_queue)
        return self._job_queue


def connect_shell(ip: Any) -> None:
    """Connect the IPython shell *ip* to this process's environment; no effect if it is already connected."""
    environment = current_environment()
    if not (isinstance(environment.shell, ConnectedShell) and environment.shell.ip is ip):
        _tell_notebook(ip)
        shell = ConnectedShell(ip, environment.job_queue)
        environment.connect(shell=shell)
        ip.events.register("post_run_cell", shell.cell_ended)
        outputs_of(ip).follow()
        if (error := getattr(sys, "last_value", None)) is not None:  # an error from before agentnb was loaded
            shell.remember(error)


def _tell_notebook(ip: Any) -> None:
    """Set Jupyter's environment variable to the notebook that VS Code names in a variable, unless it is set."""
    path = ip.user_ns.get("__vsc_ipynb_file__")
    if isinstance(path, str) and path.endswith(".ipynb"):
        os.environ.setdefault("JPY_SESSION_NAME", path)
