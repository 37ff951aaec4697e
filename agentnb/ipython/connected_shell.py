"""The IPython shell as the host uses it: what runs agents' code, and what prompts can mention."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from agentnb.host.environment import current_environment

if TYPE_CHECKING:
    from agentnb.ipython.bench import ShellBench
    from agentnb.ipython.shell_mentions import ShellMentions
    from agentnb.kernel.desk import Desk


class ConnectedShell:
    """One shell (:class:`agentnb.host.environment.Shell`). What its parts need is loaded when they are first used.

    Args:
        ip: The IPython shell.
        main_thread: Runs agents' code.
    """

    def __init__(self, ip: Any, main_thread: Desk) -> None:
        self.ip = ip
        self._main_thread = main_thread

    @cached_property
    def code_runner(self) -> ShellBench:
        """Runs code as a cell is run, on the main thread."""
        from agentnb.ipython.bench import ShellBench, lend_main_thread

        lend_main_thread(self.ip, self._main_thread)
        return ShellBench(self.ip, self._main_thread)

    @cached_property
    def mentions(self) -> ShellMentions:
        """Finds the shell's variables and cells, and files."""
        from agentnb.ipython.shell_mentions import ShellMentions

        return ShellMentions(self.ip)


def connect_shell(ip: Any) -> None:
    """Connect the IPython shell *ip* to this process's environment; nothing happens where it is connected already."""
    environment = current_environment()
    if not (isinstance(environment.shell, ConnectedShell) and environment.shell.ip is ip):
        environment.connect(shell=ConnectedShell(ip, environment.main_thread))
