"""The client side of the Agent Client Protocol: connection, agent, services for the agent, and the mapper.

ACP's words end here: what leaves upwards are actions (:mod:`agentnb.state`) and typed questions, what enters are typed
requests.
"""

from agentnb.acp.agent import Agent
from agentnb.acp.connection import Connection
from agentnb.acp.failure import RpcError
from agentnb.acp.listener import Listener
from agentnb.acp.mapper import map_permission, map_session, map_update
from agentnb.acp.opening import OpenRequest, SessionOpened
from agentnb.acp.prompt import PromptResult

__all__ = [
    "Agent",
    "Connection",
    "Listener",
    "OpenRequest",
    "PromptResult",
    "RpcError",
    "SessionOpened",
    "map_permission",
    "map_session",
    "map_update",
]
