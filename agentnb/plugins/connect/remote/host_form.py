"""What another host sends, made ready for our states, and what pages want, as the host is to be told it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.clock import now_ms
from agentnb.errors import ProtocolError
from agentnb.host.intents import Rejected
from agentnb.server.websocket import commands as c
from agentnb.server.websocket.projection import action_to_ahp
from agentnb.server.websocket.versions import SPOKEN
from agentnb.state import ChatToolCallConfirmed, ChatTurnCancelled, ChatTurnStarted, to_json
from agentnb.state.change import iso_time, milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.state import Action


class HostForm:
    """The version and abilities of another host."""

    def __init__(self, began: Callable[[str], str | None]) -> None:
        self.is_ours: bool = True
        self.version: str = SPOKEN[0]
        self._began = began

    def take(self, introduction: dict[str, Any]) -> None:
        """Take in the answer to ``initialize``; that to ``reconnect`` changes nothing."""
        if "protocolVersion" not in introduction:
            return
        version = str(introduction["protocolVersion"])
        if version not in SPOKEN:
            raise ProtocolError(f"The other host chose version {version[:100]!r}, which was not offered.")
        about = introduction.get("_meta")
        self.is_ours = isinstance(about, dict) and about.get(c.OURS) == c.IS_OURS[c.OURS]
        self.version = version

    def read(self, value: Any) -> Any:
        """A state, an action or a list of turns that the host sent."""
        return value if self.is_ours else _readable(value)

    def tell(self, action: Action) -> dict[str, Any]:
        """An action of a page, as the host is to be told it."""
        if self.is_ours:
            own: dict[str, Any] = to_json(action)
            return own
        known = action_to_ahp(self._complete(action))
        if known is None:
            raise Rejected("The other host does not support this: it works only in conversations of agentnb.")
        return dict(known)

    def _complete(self, action: Action) -> Action:
        """*action* with what AHP requires and our pages leave to the host."""
        match action:
            case ChatTurnStarted():
                return replace(action, started_at=iso_time(now_ms()))
            case ChatTurnCancelled(turn_id=turn_id):
                began = self._began(turn_id)
                return replace(action, duration=0 if began is None else max(0, now_ms() - milliseconds(began)))
            case ChatToolCallConfirmed(approved=True, confirmed=None):
                return replace(action, confirmed="user-action")
            case ChatToolCallConfirmed(approved=False, reason=None):
                return replace(action, reason="denied")
        return action


def _readable(value: Any) -> Any:
    """The value with its tool calls as our states have them: one that waits for a login runs, and input is text."""
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {name: _readable(item) for name, item in value.items()}
    if "toolCallId" in value:
        if value.get("status") == "auth-required":
            value["status"] = "running"
        if isinstance(value.get("toolInput"), dict):
            value["toolInput"] = value["toolInput"].get("uri")
        if value.get("type") == "chat/toolCallDelta":
            value.setdefault("content", "")
    return value
