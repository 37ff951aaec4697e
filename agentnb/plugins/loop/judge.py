"""Measures a try, or the notebook as it is, in a fresh copy of the kernel that is thrown away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.branches.kernel_copy import cannot_fork, fork_kernel
from agentnb.plugins.branches.preparing import on_main_thread
from agentnb.plugins.branches.variables import expecting
from agentnb.plugins.loop.metric import Brought

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentnb.host import Host
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.branches.branch import BranchChanges
    from agentnb.plugins.loop.metric import Metric


class Judged(NamedTuple):
    """The values, and the hashes of what is held as the notebook has it."""

    values: tuple[float, ...]
    digests: dict[str, str]


class Judge:
    """Measures with one metric.

    Args:
        host: The host.
        runner: The kernel.
        folder: The workspace.
        metric: The metric.
        seconds: How long it may take.
        again: How often it is evaluated once more where it shows a gain.
    """

    def __init__(
        self, host: Host, runner: CodeRunner, folder: Path, metric: Metric, *, seconds: float, again: int
    ) -> None:
        self.metric = metric
        self._host = host
        self._runner = runner
        self._folder = folder
        self._seconds = seconds
        self._again = again

    def notebook(self) -> Judged:
        """Measure the notebook as it is now.

        Raises:
            AgentnbError: If the metric gives no number.
        """
        return self._measured(None, Brought(), lambda _: True)

    def branch(self, branch: BranchChanges, is_gain: Callable[[float], bool]) -> Judged:
        """Measure what a try would leave; again and again while that is a gain.

        Raises:
            AgentnbError: As above; or if the try changed what is held.
        """
        brought = Brought()
        if branch.variables:
            box, saved = branch.save(seconds=self._seconds)
            lost = tuple(each for each in branch.variables if each not in saved.changed)
            brought = Brought(path=str(box), changed=saved.changed, lost=lost)
        try:
            with expecting(Path(brought.path), branch.at_fork):
                return self._measured(branch.folder, brought, is_gain)
        except AgentnbError as error:
            if brought.lost:
                message = f"{error.message} Could not be copied out of the try: {', '.join(brought.lost[:8])}."
                raise UsageError(message) from error
            raise

    def _measured(self, workspace: Path | None, brought: Brought, is_gain: Callable[[float], bool]) -> Judged:
        shell: Any = getattr(self._host.environment.shell, "ip", None)
        if why := cannot_fork():
            raise UsageError(f"{why}, so nothing can be measured.", hint="A loop requires a kernel that can be forked.")

        copy = on_main_thread(
            self._host, self._runner, lambda: fork_kernel(shell, self._folder, workspace, evaluate=self.metric.evaluate)
        )
        try:
            first = copy.ask("measure", msgspec.json.encode(brought).decode(), seconds=self._seconds)
            values = [first.value or 0.0]
            while len(values) <= self._again and is_gain(values[-1]):
                values.append(copy.ask("measure", "{}", seconds=self._seconds).value or 0.0)
        finally:
            copy.close()
        return Judged(tuple(values), msgspec.json.decode(first.text, type=dict[str, str]))
