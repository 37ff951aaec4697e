"""Pages' actions that another host has not answered yet: sent again after a cut, or refused if they cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentnb.host.intents import Rejected
from agentnb.plugins.connect.remote.session_list import session_of
from agentnb.state import ActionOrigin, ChatTurnStarted, Envelope, find_turn

if TYPE_CHECKING:
    from agentnb.host.channels import Channel
    from agentnb.plugins.connect.remote.mirrored_host import MirroredHost
    from agentnb.state import Action, ChatState

MOST = 200
"""Actions of pages that may wait for the other host."""


class _Wanted(NamedTuple):
    channel: str
    action: Action
    origin: ActionOrigin


class Unanswered:
    """Keeps actions of pages that wait for the other host. Runs on the host's thread."""

    def __init__(self, mirror: MirroredHost) -> None:
        self._mirror = mirror
        self._waiting: dict[int, _Wanted] = {}
        self._seq = 0

    def add(self, channel: str, action: Action, origin: ActionOrigin) -> None:
        """Forward a page's action; at once if there is a connection."""
        if any(each.origin == origin for each in self._waiting.values()):
            return  # a duplicate: the page sent it again, and it is already waiting
        if len(self._waiting) >= MOST:
            raise Rejected("The connection to the other host was lost.")
        self._seq += 1
        self._waiting[self._seq] = _Wanted(channel, action, origin)
        if self._mirror.client.state == "connected":
            self._send(self._seq)

    def send_again(self) -> None:
        """Send all waiting actions on a new connection."""
        for seq in tuple(self._waiting):
            self._send(seq)

    def take(self, seq: int) -> ActionOrigin | None:
        """Note that action *seq* was accepted; returns its origin here, or None if it was not waiting."""
        pending = self._waiting.pop(seq, None)
        return None if pending is None else pending.origin

    def refuse(self, seq: int, reason: str) -> None:
        """Refuse action *seq*, if it is waiting."""
        if seq in self._waiting:
            self._mirror.refuse(*self._waiting.pop(seq), reason)

    def refuse_all(self, reason: str, session: str | None = None) -> None:
        """Refuse all waiting actions, or those of one *session*."""
        for seq, each in tuple(self._waiting.items()):
            if session is None or session_of(each.channel) == session:
                self.refuse(seq, reason)

    def take_known(self, chat: Channel[ChatState]) -> None:
        """Do not resend a prompt that is in the snapshot: its acceptance was lost with the connection."""
        queued = {each.id for each in chat.state.queued_messages or ()}
        for seq, (uri, action, origin) in tuple(self._waiting.items()):
            if uri != chat.uri or not isinstance(action, ChatTurnStarted):
                continue
            if action.turn_id in queued or find_turn(chat.state, action.turn_id) is not None:
                del self._waiting[seq]
                chat.emit(
                    Envelope(
                        channel=uri,
                        index=chat.index,
                        action=action,
                        origin=origin,
                        rejection_reason="It was accepted before.",
                        repeated=True,
                    )
                )

    def _send(self, seq: int) -> None:
        channel, action, _ = self._waiting[seq]
        theirs, told = self._mirror.names.theirs(channel), self._mirror.form.tell(action)
        self._mirror.client.notify("dispatchAction", {"channel": theirs, "clientSeq": seq, "action": told})
