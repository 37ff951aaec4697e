"""A permission request of an agent (ACP ``session/request_permission``), read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import objects, text
from agentnb.acp.mapper import map_permission
from agentnb.clock import now_ms
from agentnb.rpc_message import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from agentnb.state import Action, ChatState


class AcpPermissionRequest:
    """One permission request of an agent."""

    def __init__(self, params: dict[str, Any]) -> None:
        if not isinstance(params.get("toolCall"), dict):
            raise RpcError(INVALID_PARAMS, "`toolCall` must be an object with a `toolCallId`.")
        if not any(isinstance(each.get("optionId"), str) for each in objects(params.get("options"))):
            raise RpcError(INVALID_PARAMS, "`options` must offer at least one option with an `optionId`.")
        tool_call = params["toolCall"]
        self.call_id: str = str(tool_call.get("toolCallId", ""))
        self.title: str = text(tool_call.get("title")) or ""
        self._params = params

    def actions(self, chat: ChatState, turn_id: str) -> tuple[str, tuple[Action, ...]]:
        """Returns how the question is put into *chat*, as it is now."""
        return map_permission(self._params, chat, turn_id, now_ms())
