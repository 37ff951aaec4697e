"""eliza's answer to ACP `initialize`."""

from __future__ import annotations

from typing import Any

from agentnb.plugins.acp_agent.agent import PROTOCOL_VERSION

LOGIN = {"id": "couch", "name": "Lie down on the couch", "description": "No account, no key: just say so."}


def introduction(version: str, *, login: bool) -> dict[str, Any]:
    """The answer to `initialize`: the only version known is 1, whatever the client asks for."""
    capabilities = {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "mcpCapabilities": {"acp": True},
        "sessionCapabilities": {"list": {}, "delete": {}, "fork": {}, "resume": {}, "close": {}},
        **({"auth": {"logout": {}}} if login else {}),
    }
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": capabilities,
        "authMethods": [LOGIN] if login else [],
        "agentInfo": {"name": "eliza", "title": "ELIZA", "version": version},
    }
