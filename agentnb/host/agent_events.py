"""What an agent says and asks in one session, brought to the session's state and services."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agentnb.clock import now_ms
from agentnb.errors import AgentError, AgentnbError
from agentnb.host.unasked import mark_unasked
from agentnb.state import ChatToolCallComplete, SessionMetaChanged, SessionTitleChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentnb.acp.elicitation import ElicitationAnswer, ElicitationQuestion
    from agentnb.acp.listener import Unsaved
    from agentnb.acp.permission import PermissionQuestion
    from agentnb.host.conversation import Conversation
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import Action, ChatState

    Handler = Callable[[dict[str, Any]], Any]

EXTENSIONS = "extensions"
EXTENSIONS_KEPT = 10


class AgentEvents:
    """Listens to one session's agent (:class:`agentnb.acp.listener.Listener`).

    Args:
        conversation: The session.

    Attributes:
        handlers: What answers the agent's extension requests, by method; called on another thread.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.handlers: dict[str, Handler] = {}
        self._conversation = conversation

    @property
    def chat(self) -> ChatState:
        """The chat as it is now."""
        return self._conversation.chat.state

    @property
    def speaking(self) -> str | None:
        """The turn that the agent answers now."""
        return self._conversation.turns.speaking

    def actions(self, actions: Sequence[Action]) -> None:
        """Accept what the agent said."""
        self._conversation.turns.heard()
        for action in actions:
            if isinstance(action, SessionTitleChanged):
                self._conversation.named = True
            self._conversation.dispatch(action)
            if isinstance(action, ChatToolCallComplete):
                mark_unasked(self._conversation, action.tool_call_id)

    async def permission(self, question: PermissionQuestion) -> str | None:
        """Answer the agent's permission request."""
        self._conversation.turns.heard()
        return await self._conversation.permissions.request(question)

    async def elicit(self, question: ElicitationQuestion) -> ElicitationAnswer:
        """Answer what the agent asks the user."""
        return await self._conversation.inputs.elicit(question)

    def elicited(self, elicitation_id: str) -> None:
        """What was to be done elsewhere is done."""
        self._conversation.inputs.elicited(elicitation_id)

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        """Allow *request*, or raise PermissionDenied."""
        return await self._conversation.permissions.authorize(request)

    def refused(self, request: PolicyRequest, error: AgentnbError) -> None:
        """The workspace's wall kept the agent out."""
        self._conversation.permissions.refused(request, error)

    def opens(self, path: str, tool: str) -> bool:
        """Whether a rule of the user's opens the workspace's wall for *path*."""
        return self._conversation.permissions.opens(path, tool)

    def unsaved(self, path: str) -> Unsaved | None:
        """What an editor holds of the file *path* and has not saved."""
        editors = self._conversation.host.editors
        return None if editors is None else editors.unsaved(path)

    def extension(self, method: str, params: Any) -> None:
        """Keep a notification that belongs to no turn, in the session's ``_meta``."""
        meta = self._conversation.session.state.meta or {}
        kept = (*meta.get(EXTENSIONS, ()), {"method": method, "params": params})[-EXTENSIONS_KEPT:]
        self._conversation.dispatch(SessionMetaChanged(meta={**meta, EXTENSIONS: list(kept)}, time=now_ms()))

    def answers(self, method: str) -> bool:
        """Whether somebody answers the extension *method*."""
        return method in self.handlers

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        """Let whoever was named for *method* answer (ACP extension methods)."""
        self._conversation.turns.heard()
        try:
            return await asyncio.to_thread(self.handlers[method], params)
        except AgentnbError:
            raise
        except Exception as error:
            raise AgentError(f"What answers {method} failed: {type(error).__name__}: {error}") from error

    def lost(self, error: AgentnbError) -> None:
        """The agent's process is gone: say so, keep the transcript, start anew at the next prompt.

        A prompt that it had not answered has failed already (its answer was the error).
        """
        self._conversation.cancel_questions()
        self._conversation.life.lost(error)
