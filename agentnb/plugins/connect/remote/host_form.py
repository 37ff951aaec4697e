"""The form that another host speaks: what it sends is read into ours, and what pages want is told in its own.

Another kernel of ours sends our own states and actions; any other host those of the version that was negotiated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from agentnb.ahp import commands as c
from agentnb.ahp.projection import action_to_ahp
from agentnb.ahp.version_forms import Context, read
from agentnb.ahp.versions import OWN_FORM, SPOKEN, is_since
from agentnb.clock import now_ms
from agentnb.errors import ProtocolError
from agentnb.host.intents import Rejected
from agentnb.state import ChatToolCallConfirmed, ChatTurnCancelled, ChatTurnStarted, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.state import Action


class HostForm:
    """What another host speaks. Ours, until it has said more."""

    def __init__(self, began: Callable[[str], int | None]) -> None:
        self.is_ours = True
        self.version = OWN_FORM
        self._began = began

    @property
    def has_cursors(self) -> bool:
        """Whether older turns come as an action, by a cursor that stands in the chat's state."""
        return not self.is_ours and is_since(self.version, "0.5.1")

    def take(self, introduction: dict[str, Any]) -> None:
        """Take in the answer to ``initialize``; that to ``reconnect`` changes nothing."""
        if "protocolVersion" not in introduction:
            return
        version = str(introduction["protocolVersion"])
        if version not in SPOKEN:
            raise ProtocolError(f"The other host chose version {version[:100]!r}, which was not offered.")
        about = introduction.get("_meta")
        self.is_ours = isinstance(about, dict) and about.get(c.OURS) == c.IS_OURS[c.OURS]
        self.version = OWN_FORM if self.is_ours else version

    def read(self, kind: str, told: Any, resource: str = "") -> Any:
        """What the host sent, in our form; see `version_forms.NESTED` for the kinds."""
        if self.is_ours or not isinstance(told, dict):
            return told
        copy = msgspec.json.decode(msgspec.json.encode(told))
        return read(kind, copy, self.version, Context(began=self._began, resource=resource))

    def tell(self, action: Action) -> dict[str, Any]:
        """An action of a page, as the host is to be told it."""
        if self.is_ours:
            told: dict[str, Any] = to_json(action)
            return told
        found = action_to_ahp(_complete(action), self.version, Context(began=self._began))
        if found is None:
            raise Rejected("The other host does not know that: it belongs to conversations of agentnb.")
        return dict(found)


def _complete(action: Action) -> Action:
    """*action* with what AHP requires and our pages leave to the host."""
    match action:
        case ChatTurnStarted():
            return replace(action, started_at=now_ms())
        case ChatTurnCancelled():
            return replace(action, ended_at=now_ms())
        case ChatToolCallConfirmed(approved=True, confirmed=None):
            return replace(action, confirmed="user-action")
        case ChatToolCallConfirmed(approved=False, reason=None):
            return replace(action, reason="denied")
    return action
