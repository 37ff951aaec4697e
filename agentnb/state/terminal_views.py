"""The terminals of a chat: a sequence in which one is found by its id, however many there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from agentnb.state.change import same
from agentnb.state.chunked_sequence import ChunkedSequence
from agentnb.state.wire import Wire


class TerminalView(Wire, frozen=True, kw_only=True):
    """Ours: a terminal that the agent opened, as it is shown.

    Args:
        id: The terminal's id.
        command: What runs, as one line.
        cwd: Where.
        output: The end of what it has printed, at most 65,536 characters.
        exit_code: How it ended, when it ended by itself.
        signal: The signal that ended it.
        truncated: Whether ``output`` has lost its beginning.
        exited: Whether it has ended.
    """

    id: str
    command: str
    cwd: str | None = None
    output: str = ""
    exit_code: int | None = None
    signal: str | None = None
    truncated: bool = False
    exited: bool = False


class TerminalViews(ChunkedSequence[TerminalView]):
    """The terminals of a chat, oldest first. Equal to a tuple of the same terminals.

    Example:
        >>> terminals = TerminalViews([TerminalView(id="t1", command="ls")])
        >>> terminals.find("t1"), terminals.find("t2")
        (0, -1)
    """

    __slots__ = ()

    @staticmethod
    def keys_of(item: Any) -> tuple[Any, ...]:
        """A terminal's id."""
        return (item.id,)

    @classmethod
    def of(cls, terminals: Iterable[TerminalView] | None) -> TerminalViews:
        """*terminals* as such a sequence; the same object where they are one."""
        return terminals if isinstance(terminals, TerminalViews) else cls(terminals or ())

    def find(self, wanted: str) -> int:
        """The place of the last terminal with that id; -1 where there is none."""
        return self._find(wanted, lambda terminal: terminal.id == wanted)

    def with_terminal(self, terminal: TerminalView) -> TerminalViews:
        """These terminals with *terminal* in the place of the one with its id, else at the end."""
        at = self.find(terminal.id)
        if at >= 0:
            return self if same(self[at], terminal) else self._version(self._with(at, terminal), self._length)
        if self._places.setdefault(terminal.id, self._length) != self._length:  # only another version had it
            return TerminalViews((*self, terminal))
        return self._version(self._with_last(terminal), self._length + 1)


if TYPE_CHECKING:
    TerminalSequence: TypeAlias = Sequence[TerminalView]
else:
    TerminalSequence = TerminalViews
"""What a chat is made with: any sequence of terminals; what is decoded or reduced are `TerminalViews`."""
