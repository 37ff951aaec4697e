"""Hearing: what the agent says in one session, and asks of us (:class:`agentnb.acp.listener.Listener`)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.acp.mapper import map_update
from agentnb.errors import AgentError, AgentnbError
from agentnb.host.clock import now_ms
from agentnb.state import SessionMetaChanged, SessionTitleChanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.acp.listener import Unsaved
    from agentnb.host.channel import Channel
    from agentnb.host.host import Host
    from agentnb.host.inputs import Inputs
    from agentnb.host.life import Life
    from agentnb.host.permissions import Permissions
    from agentnb.host.turns import Turns
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action, ActionOrigin, ChatState, Envelope, SessionState

    Handler = Callable[[dict[str, Any]], Any]

EXTENSIONS = "extensions"
EXTENSIONS_KEPT = 10


class Hearing:
    """The half of :class:`agentnb.host.conversation.Conversation` that its agent talks to.

    Attributes:
        handlers: What answers the agent's extension requests, by method; called on another thread.
    """

    host: Host
    session: Channel[SessionState]
    chat: Channel[ChatState]
    permissions: Permissions
    inputs: Inputs
    life: Life
    turns: Turns
    _named: bool

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}

    def dispatch(self, action: Action, origin: ActionOrigin | None = None) -> Envelope:
        """See :class:`agentnb.host.conversation.Conversation`."""
        raise NotImplementedError

    def cancel_questions(self) -> None:
        """See :class:`agentnb.host.conversation.Conversation`."""
        raise NotImplementedError

    def updates(self, updates: list[dict[str, Any]]) -> None:
        """Take the agent's updates, in order (ACP ``session/update``)."""
        self.turns.heard()
        for update in updates:
            for action in map_update(update, self.chat.state, self.turns.speaking, now_ms()):
                if isinstance(action, SessionTitleChanged):
                    self._named = True
                self.dispatch(action)

    async def permission(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer the agent's permission request."""
        self.turns.heard()
        return await self.permissions.request(params)

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        """Allow *request*, or raise PermissionDenied."""
        return await self.permissions.authorize(request)

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        """The workspace's wall kept the agent out."""
        self.permissions.refused(request, error)

    def opens(self, path: str, tool: str) -> bool:
        """Whether a rule of the user's opens the workspace's wall for *path*."""
        return self.permissions.opens(path, tool)

    def unsaved(self, path: str) -> Unsaved | None:
        """What an editor holds of the file *path* and has not saved."""
        return None if self.host.editors is None else self.host.editors.unsaved(path)

    def terminal(self, action: Action) -> None:
        """Take what one of our terminals did."""
        self.turns.heard()
        self.dispatch(action)

    def lost(self, error: AgentnbError) -> None:
        """The agent's process is gone: say so, keep the transcript, start anew at the next prompt.

        A prompt that it had not answered has failed already (its answer was the error).
        """
        self.cancel_questions()
        self.life.lost(error)

    async def elicit(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answer what the agent asks the user."""
        return await self.inputs.elicit(params)

    def elicited(self, elicitation_id: str) -> None:
        """Take that what was to be done elsewhere is done."""
        self.inputs.elicited(elicitation_id)

    def extension(self, method: str, params: Any) -> None:
        """Keep a notification that belongs to no turn, in the session's ``_meta``."""
        meta = self.session.state.meta or {}
        kept = (*meta.get(EXTENSIONS, ()), {"method": method, "params": params})[-EXTENSIONS_KEPT:]
        self.dispatch(SessionMetaChanged(meta={**meta, EXTENSIONS: list(kept)}, time=now_ms()))

    def answers(self, method: str) -> bool:
        """Whether somebody answers the extension *method*."""
        return method in self.handlers

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        """Let whoever was named for *method* answer (ACP extension methods)."""
        self.turns.heard()
        try:
            return await asyncio.to_thread(self.handlers[method], params)
        except AgentnbError:
            raise
        except Exception as error:
            raise AgentError(f"What answers {method} failed: {type(error).__name__}: {error}") from error
