"""agentnb: AI coding agents in notebooks, over the Agent Client Protocol.

Importing this package starts nothing and loads nothing heavy; every public name is loaded at its first use.

Example:
    >>> import agentnb
    >>> turn = agentnb.start("eliza").prompt("Hello")  # doctest: +SKIP
    >>> turn.wait().text  # doctest: +SKIP
    'Hello. I am eliza. What are you working on?'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentnb.api.agent_sessions import agent_sessions as agent_sessions
    from agentnb.api.agent_sessions import delete_session as delete_session
    from agentnb.api.agent_sessions import logout as logout
    from agentnb.api.agents import agents as agents
    from agentnb.api.agents import doctor as doctor
    from agentnb.api.history import forget as forget
    from agentnb.api.history import resume as resume
    from agentnb.api.history import sessions as sessions
    from agentnb.api.policy import trust as trust
    from agentnb.api.policy import untrust as untrust
    from agentnb.api.session import Session as Session
    from agentnb.api.start import chat as chat
    from agentnb.api.start import start as start
    from agentnb.api.start import warm as warm
    from agentnb.api.turn import Turn as Turn
    from agentnb.errors import AgentnbError as AgentnbError
    from agentnb.ipython.sidebar import sidebar as sidebar

__version__ = "0.1.0"

_PUBLIC = {
    "AgentnbError": "agentnb.errors",
    "Session": "agentnb.api.session",
    "Turn": "agentnb.api.turn",
    "agent_sessions": "agentnb.api.agent_sessions",
    "agents": "agentnb.api.agents",
    "chat": "agentnb.api.start",
    "delete_session": "agentnb.api.agent_sessions",
    "forget": "agentnb.api.history",
    "logout": "agentnb.api.agent_sessions",
    "resume": "agentnb.api.history",
    "sessions": "agentnb.api.history",
    "doctor": "agentnb.api.agents",
    "sidebar": "agentnb.ipython.sidebar",
    "start": "agentnb.api.start",
    "trust": "agentnb.api.policy",
    "untrust": "agentnb.api.policy",
    "warm": "agentnb.api.start",
}

__all__ = [
    "AgentnbError",
    "Session",
    "Turn",
    "__version__",
    "agent_sessions",
    "agents",
    "chat",
    "delete_session",
    "doctor",
    "forget",
    "logout",
    "resume",
    "sessions",
    "sidebar",
    "start",
    "trust",
    "untrust",
    "warm",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ip: Any) -> None:
    """Load the ``%agent`` magics (``%load_ext agentnb``)."""
    import_module("agentnb.ipython").load(ip)


def unload_ipython_extension(ip: Any) -> None:
    """Take the ``%agent`` magics away (``%unload_ext agentnb``)."""
    import_module("agentnb.ipython").unload(ip)
