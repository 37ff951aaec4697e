"""The IPython shell as the host uses it: what runs agents' code, and what prompts can mention."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentnb.host.environment import current_environment

if TYPE_CHECKING:
    from agentnb.ipython.shell_code_runner import ShellCodeRunner
    from agentnb.ipython.shell_mentions import ShellMentions
    from agentnb.kernel.job_queue import JobQueue


class ConnectedShell:
    """One shell (:class:`agentnb.host.environment.Shell`). What its parts need is loaded when they are first used.

    Args:
        ip: The IPython shell.
        job_queue: Runs agents' code.
    """

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
        """Finds the shell's variables and cells, and files."""
        from agentnb.ipython.shell_mentions import ShellMentions

        return ShellMentions(self.ip, self._connected_queue)

    @cached_property
    def _connected_queue(self) -> JobQueue:
        """The queue, which from now on runs its jobs where the shell runs no cell."""
        from agentnb.ipython.shell_code_runner import connect_job_queue

        connect_job_queue(self.ip, self._job_queue)
        return self._job_queue


def connect_shell(ip: Any) -> None:
    """Connect the IPython shell *ip* to this process's environment; nothing happens where it is connected already."""
    environment = current_environment()
    if not (isinstance(environment.shell, ConnectedShell) and environment.shell.ip is ip):
        environment.connect(shell=ConnectedShell(ip, environment.job_queue))
