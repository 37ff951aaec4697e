"""The variables of one IPython shell: which are the user's, and what runs when an agent's code is watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.ipython.mentions import visible
from agentnb.kernel.variable_watch import VariableWatch, Watches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.kernel.job_queue import JobQueue
    from agentnb.kernel.variable_watch import NameChange


class ShellNamespace:
    """The user's variables in one shell (implements :class:`agentnb.kernel.code_runner.Namespace`).

    Args:
        shell: The shell.
        job_queue: Knows how the main thread's loop is reached, where one runs.
    """

    def __init__(self, shell: Any, job_queue: JobQueue) -> None:
        self._shell = shell
        self._job_queue = job_queue
        self._watches: Watches | None = None
        self._released: list[object] = []

    def variables(self) -> dict[str, Any]:
        """The user's own, as ``%whos`` lists them: nothing private, and nothing that IPython put there."""
        held = {name: value for name, value in [*self._shell.user_ns.items()] if isinstance(name, str)}
        hidden = self._shell.user_ns_hidden
        return {name: held[name] for name in visible(held) if held[name] is not hidden.get(name, _nothing)}

    def bind(self, name: str, value: Any) -> None:
        """Bind *name* to *value*."""
        self._shell.user_ns[name] = value

    def unbind(self, name: str) -> None:
        """Delete *name*."""
        self._shell.user_ns.pop(name, None)

    def watch(self, found: Callable[[Sequence[NameChange]], object]) -> VariableWatch:
        """A watch for one piece of code."""
        return VariableWatch(self.variables, self._following(), found)

    def release(self, objects: Sequence[object]) -> None:
        """Free *objects* on the main thread: as soon as its loop is free, else around the next cell."""
        self._released.extend(objects)
        if self._job_queue.schedule is not None:
            self._job_queue.schedule(self._free)

    def _following(self) -> Watches:
        """The watches of this shell, which hear of its cells from now on."""
        if self._watches is None:
            self._watches = Watches()
            self._shell.events.register("pre_run_cell", self._cell_begins)
            self._shell.events.register("post_run_cell", self._cell_ended)
        return self._watches

    def _cell_begins(self, _info: Any) -> None:
        self._free()
        self._following().user_cell_begins()

    def _cell_ended(self, _result: Any) -> None:
        self._following().user_cell_ended()
        self._free()

    def _free(self) -> None:
        self._released.clear()


_nothing = object()
