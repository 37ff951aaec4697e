"""The request that a cell answers, held from its start to its end."""

from __future__ import annotations

import threading
from typing import Any


class CellRequest:
    """The request that a shell answers, for the cell that runs in each thread."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._asked: dict[int, list[tuple[Any, Any]]] = {}

    def follow(self) -> None:
        """From now on each cell ends as itself."""
        if hasattr(getattr(self._shell, "kernel", None), "_shell_context"):
            self._shell.events.register("pre_run_cell", self._begins)
            self._shell.events.register("post_run_cell", self._ends)

    def stop(self) -> None:
        """Leave the shell alone again."""
        for name, callback in (("pre_run_cell", self._begins), ("post_run_cell", self._ends)):
            if callback in self._shell.events.callbacks[name]:
                self._shell.events.unregister(name, callback)

    def _begins(self, _info: Any) -> None:
        kernel = self._shell.kernel
        request = (kernel._parent_ident["shell"], kernel.get_parent("shell"))  # noqa: SLF001 - no public way to it
        self._asked.setdefault(threading.get_ident(), []).append(request)

    def _ends(self, _result: Any) -> None:
        kernel = self._shell.kernel
        if requests := self._asked.get(threading.get_ident()):
            ident, request = requests.pop()
            if kernel.get_parent("shell") is not request:
                kernel.set_parent(ident, request, channel="shell")
