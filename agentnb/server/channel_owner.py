"""What pages talk to, as far as delivery and their common requests need it: this kernel's host, or another's mirror."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from agentnb.host.channels import Channel, Listener
    from agentnb.host.loop import HostLoop
    from agentnb.state import ChatState


class HasChat(Protocol):
    """A conversation, as far as pages' common requests need it."""

    @property
    def chat(self) -> Channel[ChatState]:
        """Its chat."""


class ChannelOwner(Protocol):
    """The host that pages talk to: this kernel's own, or the mirror of another."""

    @property
    def host_id(self) -> str:
        """Its id: a page that comes back sees by it whether it is the same."""

    @property
    def loop(self) -> HostLoop:
        """Returns where it lives."""

    def listen(self, listener: Listener) -> None:
        """Call *listener* with every envelope."""

    def channel_or_none(self, uri: str) -> Channel[Any] | None:
        """The channel *uri*, where there is one."""

    def find(self, channel: str) -> HasChat:
        """The conversation that *channel* belongs to."""
