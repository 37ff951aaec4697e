"""Every method of the protocol, by name: the requests of pages, their notifications, and those of the kernel."""

from __future__ import annotations

from agentnb.server import (  # noqa: F401 - each registers its requests
    agent_requests,
    client_requests,
    file_requests,
    history_requests,
    policy_requests,
    session_requests,
    settings_requests,
    storage_requests,
)
from agentnb.server import answers as a
from agentnb.server.messages import OURS
from agentnb.server.request_table import AHP_METHODS, COMMON_ERRORS, PAGE_NOTIFICATIONS, REQUESTS, Method

__all__ = ["AHP_METHODS", "COMMON_ERRORS", "METHODS", "NOTIFICATIONS", "OURS", "PAGE_NOTIFICATIONS", "REQUESTS"]

METHODS: dict[str, Method] = REQUESTS | PAGE_NOTIFICATIONS
"""The methods of pages, by name."""

NOTIFICATIONS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name=f"{OURS}actions", sender="kernel", params=a.ActionsParams),
        Method(name=f"{OURS}text", sender="kernel", params=a.TextParams),
        Method(name=f"{OURS}pong", sender="kernel", params=a.PongParams),
        Method(name=f"{OURS}unknownClient", sender="kernel", params=a.UnknownClientParams),
        Method(name=f"{OURS}draft", sender="kernel", params=a.DraftParams),
        Method(name=f"{OURS}sessionsChanged", sender="kernel", params=a.SessionsChangedParams),
        Method(name=f"{OURS}settingsChanged", sender="kernel", params=a.SettingsChangedParams),
    )
}
"""The notifications of the kernel, by name."""
