"""Extensions: what ACP leaves to the two sides, asked of the agent and answered for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.agent import extension

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.host.conversation import Conversation


async def extended(
    conversation: Conversation, method: str, params: dict[str, Any], *, notify: bool, timeout: float
) -> Any:
    """Ask the agent, or with *notify* tell it; the session is named where *params* name none.

    Raises:
        UsageError: If *method* is no extension.
        AgentError: If the agent cannot be started, refuses, or does not answer within *timeout* seconds.
    """
    extension(method)
    agent = await conversation.ready()
    session_id = conversation.session_id or ""
    if not notify:
        return await agent.extend(session_id, method, params, timeout)
    agent.tell(session_id, method, params)
    return None


def handle(conversation: Conversation, method: str, handler: Callable[[dict[str, Any]], Any] | None) -> None:
    """Let *handler* answer *method* from now on; nobody, where it is None.

    Raises:
        UsageError: If *method* is no extension.
    """
    if handler is None:
        conversation.events.handlers.pop(extension(method), None)
    else:
        conversation.events.handlers[extension(method)] = handler
