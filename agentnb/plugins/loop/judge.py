"""Measures a try, or the current notebook, in a fresh copy of the kernel that is thrown away.

The try's changes are applied there as *Keep* would apply them. Then the code that the metric calls is restored to its
state at the beginning of the loop, and what is held is compared with its state before.
"""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from agentnb.errors import AgentnbError, UsageError
from agentnb.plugins.branches.kernel_copy import cannot_fork, fork_kernel
from agentnb.plugins.branches.preparing import on_main_thread
from agentnb.plugins.branches.variables import bring, expecting
from agentnb.plugins.loop.digests import digest_of, digest_of_file
from agentnb.plugins.loop.held import Held, find_held, globals_read, is_code, named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from agentnb.host import Host
    from agentnb.kernel.code_runner import CodeRunner
    from agentnb.plugins.branches.branch import BranchChanges


FREE = "To let tries change it, name what they may not change: held=[…]."
_EXAMPLE = 'For example metric="score(model)".'


class HeldChanged(UsageError):
    """A try changed what the metric is made of."""


class Brought(msgspec.Struct, frozen=True, omit_defaults=True):
    """The variables that a try changed: the file they were saved in, and those that could not be saved."""

    path: str = ""
    changed: dict[str, str] = {}
    lost: tuple[str, ...] = ()


class Metric:
    """One metric; raises a UsageError if it is not an expression, or something that is to be held is missing.

    Args:
        source: The expression; if its value can be called, it is called.
        names: The namespace of the notebook.
        held: What tries may not change; if None, what the metric reads.
    """

    def __init__(self, source: str, names: dict[str, Any], folder: Path, held: Sequence[str] | None) -> None:
        self.source = source
        self._names = names
        self._folder = folder
        self._code = compiled(source)
        self.held: Held = find_held(self._code, names, folder) if held is None else named(held, names, folder)
        root = names.get(source)
        if is_code(root):
            self.held.code[source] = root

    @property
    def is_variable(self) -> bool:
        """True if the metric is a variable that each try sets by itself."""
        return self.source in self._names and not callable(self._names[self.source])

    @property
    def missing(self) -> list[str]:
        """The names that the metric reads and that do not exist."""
        read = dict.fromkeys(globals_read(self._code))
        return [each for each in read if each not in self._names and not hasattr(builtins, each)]

    def digests(self) -> dict[str, str]:
        """Returns the hashes of what is held, as it is in the namespace now."""
        names = [*self.held.code, *self.held.data]
        return {each: digest_of(self._names[each]) if each in self._names else "" for each in names}

    def file_digests(self, folder: Path | None = None) -> dict[str, str]:
        return {each: digest_of_file((folder or self._folder) / each) for each in self.held.files}

    def evaluate(self, text: str) -> tuple[Any, str]:
        """Returns the value with a try's changes, and the hashes before it; to be called in a copy of the kernel."""
        brought, names = msgspec.json.decode(text, type=Brought), self._names
        before = self.digests()
        if brought.path:
            bring(brought.path, brought.changed, names)
        for each in brought.lost:
            names.pop(each, None)
        check_held(before, self.digests())
        names.update(self.held.code)
        value = eval(self._code, names)  # noqa: S307 - the user's own expression
        return value() if callable(value) else value, msgspec.json.encode(before).decode()


def check_held(before: dict[str, str], after: dict[str, str]) -> None:
    """Raise HeldChanged if some hashes differ."""
    changed = [name for name, digest in before.items() if after.get(name) != digest]
    if changed:
        raise HeldChanged(f"The try changed {', '.join(changed[:8])}, which the metric reads.", hint=FREE)


def compiled(source: str) -> CodeType:
    try:
        return compile(source.strip(), "<metric>", "eval")
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"metric={source!r} is not an expression: {error}.", hint=_EXAMPLE) from None


class Judged(NamedTuple):
    """The values of the metric, and the hashes of what tries must not change, as the notebook has it."""

    values: tuple[float, ...]
    digests: dict[str, str]


class Judge:
    """Measures with one metric, within *seconds*; *again* so many more times if it shows a gain."""

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
        """Measure the current notebook; raises an AgentnbError if the metric gives no number."""
        return self._measured(None, Brought(), lambda _: True)

    def branch(self, branch: BranchChanges, is_gain: Callable[[float], bool]) -> Judged:
        """Measure what a try would leave, repeatedly while that is a gain; HeldChanged if it changed what is held."""
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
