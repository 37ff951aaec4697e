"""The interfaces of a running try, whether it is in a branch of this kernel or on a worker of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from agentnb.plugins.branches.branch import BranchChanges
from agentnb.plugins.branches.branches import begin_branches

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.plugins.branches.branch import Branch
    from agentnb.plugins.branches.branches import Branches
    from agentnb.state import ErrorInfo


class TryTurn(Protocol):
    """The turn of a try's agent."""

    @property
    def done(self) -> bool: ...

    @property
    def state(self) -> str: ...

    @property
    def error(self) -> ErrorInfo | None: ...

    def cancel(self) -> None: ...


class TryBranch(BranchChanges, Protocol):
    """The branch of a try."""

    error: str

    @property
    def turn(self) -> TryTurn: ...

    @property
    def state(self) -> str:
        """See :attr:`agentnb.plugins.branches.branch.Branch.state`."""
        ...

    @property
    def text(self) -> str: ...

    @property
    def tokens(self) -> int | None: ...

    @property
    def costs(self) -> dict[str, float]:
        """The costs, by currency."""
        ...

    @property
    def why(self) -> str:
        """The reason its kernel has ended."""
        ...

    def close(self, state: Literal["discarded"]) -> None: ...


class RunningTry(Protocol):
    """A try, and what can be done with it."""

    @property
    def branch(self) -> TryBranch: ...

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* when its state changes."""
        ...

    def keep(self) -> object:
        """Bring what the try changed into the notebook."""
        ...

    def discard(self) -> None:
        """End the try, and discard it if it was not kept."""
        ...


BeginTry: TypeAlias = "Callable[[int, str, str], RunningTry]"
"""Begins a try, given its number, the prompt and the agent's additional instructions."""


class LocalTry:
    """One try in a branch of this kernel (:class:`agentnb.plugins.loop.running_try.RunningTry`)."""

    def __init__(self, made: Branches) -> None:
        self._made = made

    @property
    def branch(self) -> Branch:
        return self._made[0]

    def listen(self, listener: Callable[[], None]) -> None:
        """Call *listener* when its state changes."""
        self._made.listen(listener)

    def keep(self) -> object:
        """Bring what the try changed into the notebook."""
        return self._made.keep(self.branch.number)

    def discard(self) -> None:
        """End the try, and discard it if it was not kept."""
        self._made.discard()


def local_tries(options: dict[str, Any]) -> Callable[[int, str, str], LocalTry]:
    """Returns a function that begins a try with these arguments of :func:`agentnb.start`."""

    def begin(number: int, prompt: str, instructions: str) -> LocalTry:
        return LocalTry(begin_branches(prompt, [options], instructions=instructions, first=number))

    return begin
