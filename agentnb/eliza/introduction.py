"""eliza's answer to ACP `initialize`."""

from __future__ import annotations

from acp import PROTOCOL_VERSION
from acp.schema import (
    AgentAuthCapabilities,
    AgentCapabilities,
    AuthMethodAgent,
    Implementation,
    InitializeResponse,
    LogoutCapabilities,
    McpCapabilities,
    PromptCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
)

LOGIN = AuthMethodAgent(id="couch", name="Lie down on the couch", description="No account, no key: just say so.")


def introduction(version: str, *, login: bool) -> InitializeResponse:
    """The answer to `initialize`: the only version known is 1, whatever the client asks for.

    Args:
        version: What eliza tells as its own.
        login: Whether one can, and has to, log in.
    """
    return InitializeResponse(
        protocol_version=PROTOCOL_VERSION,
        agent_info=Implementation(name="eliza", title="ELIZA", version=version),
        agent_capabilities=AgentCapabilities(
            load_session=True,
            mcp_capabilities=McpCapabilities(acp=True),
            prompt_capabilities=PromptCapabilities(image=True, audio=True, embedded_context=True),
            session_capabilities=SessionCapabilities(
                list=SessionListCapabilities(),
                resume=SessionResumeCapabilities(),
                fork=SessionForkCapabilities(),
                close=SessionCloseCapabilities(),
                delete=SessionDeleteCapabilities(),
            ),
            auth=AgentAuthCapabilities(logout=LogoutCapabilities()) if login else None,
        ),
        auth_methods=[LOGIN] if login else [],
    )
