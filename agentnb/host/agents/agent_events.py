"""Brings the events and requests of an agent in one session to the session's state and services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.clock import now_ms
from agentnb.state import (
    ChatToolCallComplete,
    ChatToolCallReady,
    ChatToolCallStart,
    SessionMetaChanged,
    ToolResultTextContent,
    ToolTextContent,
    XConfigOptionsChanged,
    XModeChanged,
    XModesChanged,
    XTerminalExited,
    XToolCallDetailsChanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from agentnb.acp.elicitation import ElicitationAnswer, ElicitationQuestion
    from agentnb.acp.listener import Unsaved
    from agentnb.acp.permission import AcpPermissionRequest
    from agentnb.errors import AgentnbError
    from agentnb.host.agents.extensions import Extensions
    from agentnb.host.channels import SessionChannels
    from agentnb.host.permissions.permissions import Permissions
    from agentnb.host.turns.inactivity import Inactivity
    from agentnb.host.turns.input_requests import InputRequests
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action, ChatState

EXTENSIONS = "extensions"
EXTENSIONS_KEPT = 10
_MODES = (XModeChanged, XModesChanged, XConfigOptionsChanged)
_CALL_SEEN = (ChatToolCallStart, ChatToolCallReady, XToolCallDetailsChanged)


class AgentEvents:
    """Listens to one session's agent (:class:`agentnb.acp.listener.SessionListener`)."""

    def __init__(
        self,
        channels: SessionChannels,
        inactivity: Inactivity,
        permissions: Permissions,
        inputs: InputRequests,
        extensions: Extensions,
        *,
        unsaved: Callable[[str], Unsaved | None],
        lost: Callable[[AgentnbError], None],
        printed: Callable[[str], None],
        mode_changed: Callable[[], None],
    ) -> None:
        self._channels = channels
        self._inactivity = inactivity
        self._permissions = permissions
        self._extensions = extensions
        self._printed = printed
        self._mode_changed = mode_changed
        self.authorize: Callable[[PolicyRequest], Coroutine[Any, Any, PolicyRequest]] = permissions.authorize
        self.refused: Callable[[PolicyRequest, AgentnbError], None] = permissions.refused
        self.opens: Callable[[str, str], bool] = permissions.opens
        self.elicit: Callable[[ElicitationQuestion], Coroutine[Any, Any, ElicitationAnswer]] = inputs.elicit
        self.elicited: Callable[[str], None] = inputs.elicited
        self.answers: Callable[[str], bool] = extensions.answers
        self.unsaved = unsaved
        self.lost = lost

    @property
    def chat(self) -> ChatState:
        """The chat as it is now."""
        return self._channels.chat.state

    @property
    def speaking(self) -> str | None:
        """The turn that the agent answers now."""
        return self._channels.speaking

    def actions(self, actions: Sequence[Action]) -> None:
        """Accept what the agent said."""
        self._inactivity.record_activity()
        for action in actions:
            self._channels.dispatch(action)
            if isinstance(action, _CALL_SEEN):
                self._permissions.join(action.tool_call_id)
            if isinstance(action, ChatToolCallComplete):
                self._permissions.mark_unasked(action.tool_call_id)
            if isinstance(action, _MODES):
                self._mode_changed()
            self._permissions.rehearsals.seen(action)
            if isinstance(action, ChatToolCallComplete | XTerminalExited) and (text := self._text_of(action)):
                self._printed(text)

    def _text_of(self, ended: ChatToolCallComplete | XTerminalExited) -> str:
        """Returns what a command, or a tool call, has printed that has just ended."""
        if isinstance(ended, XTerminalExited):
            terminals = self._channels.chat.state.terminals or ()
            return next((each.output for each in terminals if each.id == ended.terminal_id), "")
        call = self._channels.tool_call(ended.tool_call_id)
        details = call.details if call is not None else None
        content = (details.content if details is not None else None) or ()
        pieces = [each.text for each in content if isinstance(each, ToolTextContent)]
        pieces += [each.text for each in ended.result.content or () if isinstance(each, ToolResultTextContent)]
        raw = details.raw_output if details is not None else None
        values = raw.values() if isinstance(raw, dict) else (raw,)
        return "\n".join([*pieces, *(each for each in values if isinstance(each, str))])

    async def permission(self, question: AcpPermissionRequest) -> str | None:
        """Answer the agent's permission request."""
        self._inactivity.record_activity()
        return await self._permissions.request(question)

    def extension(self, method: str, params: Any) -> None:
        """Keep a notification that belongs to no turn, in the session's ``_meta``."""
        meta = self._channels.session.state.meta or {}
        kept = (*meta.get(EXTENSIONS, ()), {"method": method, "params": params})[-EXTENSIONS_KEPT:]
        self._channels.dispatch(SessionMetaChanged(meta={**meta, EXTENSIONS: list(kept)}, time=now_ms()))

    async def extended(self, method: str, params: Any) -> Any:
        """Answer an extension request."""
        self._inactivity.record_activity()
        return await self._extensions.answer(method, params)
