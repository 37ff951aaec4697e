"""A try of a loop in a branch of this kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.plugins.branches.branches import begin_branches

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.plugins.branches.branch import Branch
    from agentnb.plugins.branches.branches import Branches


class LocalTry:
    """One try (:class:`agentnb.plugins.loop.running_try.RunningTry`)."""

    def __init__(self, made: Branches) -> None:
        self._made = made

    @property
    def branch(self) -> Branch:
        """Its branch."""
        return self._made[0]

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* when its state changes."""
        self._made.listen(listener)

    def keep(self) -> object:
        """Bring what it changed into the notebook."""
        return self._made.keep(self.branch.number)

    def discard(self) -> None:
        """End it, and let it go where it was not kept."""
        self._made.discard()


def local_tries(options: dict[str, Any]) -> Callable[[int, str, str], LocalTry]:
    """What begins a try with these arguments of :func:`agentnb.start`."""

    def begin(number: int, prompt: str, instructions: str) -> LocalTry:
        return LocalTry(begin_branches(prompt, [options], instructions=instructions, first=number))

    return begin
