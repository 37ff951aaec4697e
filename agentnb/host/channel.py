"""One channel: a state, the log of what changed it, and an index without holes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentnb.log import ChannelLog
from agentnb.state import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.state import ActionOrigin

S = TypeVar("S")


class Channel(Generic[S]):
    """A state that only :meth:`accept` changes.

    Args:
        uri: The channel's URI (AHP: what a client subscribes to).
        state: The first state.
        reduce: The channel's pure reducer.
        emit: Called with every accepted envelope.
    """

    def __init__(
        self, uri: str, state: S, reduce: Callable[[S, Any], S], emit: Callable[[Channel[Any], Envelope], None]
    ) -> None:
        self.uri = uri
        self.state = state
        self.index = 0
        self.gap: str | None = None
        self.log = ChannelLog()
        self._reduce = reduce
        self._emit = emit

    def accept(self, action: Any, origin: ActionOrigin | None = None) -> Envelope:
        """Reduce *action* into the state, give it the next index and log it."""
        self.state = self._reduce(self.state, action)
        self.index += 1
        envelope = Envelope(channel=self.uri, index=self.index, action=action, origin=origin)
        self.log.append(envelope)
        self._emit(self, envelope)
        return envelope

    def restore(self, state: S, index: int, gap: str | None = None) -> None:
        """Go on from a state that the log kept; nothing is said of it: clients come later.

        Args:
            state: The state.
            index: The index at which it was that.
            gap: What of it could not be recovered, and why.
        """
        self.state, self.index, self.gap = state, index, gap
        self.log = ChannelLog(begins_after=index)
