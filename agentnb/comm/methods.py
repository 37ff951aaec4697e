"""Every method of the protocol, by name: the requests of pages, their notifications, and those of the kernel."""

from __future__ import annotations

from agentnb.comm import (  # noqa: F401 - each registers its requests
    agent_requests,
    client_requests,
    file_requests,
    history_requests,
    policy_requests,
    session_requests,
    settings_requests,
    storage_requests,
)
from agentnb.comm import answers as a
from agentnb.comm import messages as m
from agentnb.comm.request_table import COMMON_ERRORS, REQUESTS, Method

__all__ = ["COMMON_ERRORS", "LAB_NOTIFICATIONS", "METHODS", "NOTIFICATIONS", "PAGE_NOTIFICATIONS", "REQUESTS"]

PAGE_NOTIFICATIONS: dict[str, type] = {
    "dispatchAction": m.DispatchParams,
    "ack": m.AckParams,
    "resync": m.ResyncParams,
    "visibility": m.VisibilityParams,
    "ping": m.PingParams,
    "draft": m.DraftParams,
    "leave": m.LeaveParams,
}
"""The parameters of each notification of a page."""

METHODS: dict[str, Method] = REQUESTS | {
    name: Method(name=name, sender="page", params=params) for name, params in PAGE_NOTIFICATIONS.items()
}
"""The methods of pages, by name."""

NOTIFICATIONS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(name="actions", sender="kernel", params=a.ActionsParams),
        Method(name="text", sender="kernel", params=a.TextParams),
        Method(name="pong", sender="kernel", params=a.PongParams),
        Method(name="unknownClient", sender="kernel", params=a.UnknownClientParams),
        Method(name="draft", sender="kernel", params=m.DraftParams),
        Method(name="sessionsChanged", sender="kernel", params=a.SessionsChangedParams, since=2),
        Method(name="settingsChanged", sender="kernel", params=a.SettingsChangedParams, since=2),
    )
}
"""The notifications of the kernel, by name."""

LAB_NOTIFICATIONS = frozenset({"notebookAgain", "edit", "failedPrompt", "outputs", "quoted"})
"""The notifications of the kernel on the comm of the JupyterLab extension."""
