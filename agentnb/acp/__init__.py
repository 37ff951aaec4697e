"""The client side of the Agent Client Protocol: connection, agent, services for the agent, and the mapper.

ACP's words end here: above this package there are only actions (:mod:`agentnb.state`).
"""

from agentnb.acp.agent import Agent, NewSession
from agentnb.acp.connection import Connection
from agentnb.acp.failure import RpcError
from agentnb.acp.listener import Listener
from agentnb.acp.mapper import channel_of, map_permission, map_session, map_update, permission_outcome

__all__ = [
    "Agent",
    "Connection",
    "Listener",
    "NewSession",
    "RpcError",
    "channel_of",
    "map_permission",
    "map_session",
    "map_update",
    "permission_outcome",
]
