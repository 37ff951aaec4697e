"""The MCP server: the tools in the words of the Model Context Protocol, whichever way the words come.

Only what a server of tools needs: ``initialize``, ``ping``, ``tools/list``, ``tools/call``. One per connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.failure import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from agentnb.acp.services import own_info
from agentnb.kernel.tools import TOOLS

if TYPE_CHECKING:
    from agentnb.kernel.kit import Kit

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of the protocol that are spoken, the newest first."""
INSTRUCTIONS = (
    "These tools reach into the Jupyter kernel and the notebook that the user works in. Look with `variables`, "
    "`inspect` and `cells` before you run code. `run_code` runs in the user's own namespace: do not overwrite "
    "variables that you did not make. The user may refuse; then ask for another way, do not try the same again."
)


class McpServer:
    """One connection's server.

    Args:
        kit: The tools.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer one request.

        Raises:
            RpcError: If the method, or the tool, is unknown.
        """
        match method:
            case "initialize":
                return self._initialized(params.get("protocolVersion"))
            case "ping":
                return {}
            case "tools/list":
                return {"tools": list(TOOLS.values())}
            case "tools/call":
                return await self._called(params)
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})

    def _initialized(self, wanted: Any) -> dict[str, Any]:
        own = own_info()
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "agentnb-kernel", "title": "The user's Jupyter kernel", "version": own["version"]},
            "instructions": INSTRUCTIONS,
        }

    async def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        name = params.get("name")
        if not isinstance(name, str) or name not in TOOLS:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}", {"tools": list(TOOLS)})
        return await self._kit.call(name, params.get("arguments"))
