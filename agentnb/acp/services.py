"""What we do for the agent: its requests, each brought to the service that answers it."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

from agentnb.acp.failure import METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from agentnb.acp.sessions import Sessions
    from agentnb.agent.catalog import Capabilities


def client_capabilities(offered: Capabilities) -> dict[str, Any]:
    """What the agent is told that it may ask for (ACP ``ClientCapabilities``)."""
    files = {"readTextFile": offered.read_text_file, "writeTextFile": offered.write_text_file}
    return {"fs": files, "terminal": offered.terminal}


def own_info() -> dict[str, str]:
    """Who we are (ACP ``clientInfo``)."""
    try:
        version = metadata.version("agentnb")
    except metadata.PackageNotFoundError:
        version = "0"
    return {"name": "agentnb", "title": "agentnb", "version": version}


async def serve(method: str, params: dict[str, Any], sessions: Sessions, offered: Capabilities) -> Any:
    """Answer one request of the agent.

    Raises:
        RpcError: If we do not know the method, or did not offer it.
        AgentnbError: If it fails or is not allowed.
    """
    if not _offers(method, offered):
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})
    route = await sessions.route(params)
    match method:
        case "session/request_permission":
            return await route.listener.permission(params)
        case "fs/read_text_file":
            return await route.files.read(params)
        case "fs/write_text_file":
            return await route.files.write(params)
        case "terminal/create":
            return await route.terminals.create(params)
        case "terminal/output":
            return await route.terminals.output(params)
        case "terminal/wait_for_exit":
            return await route.terminals.wait_for_exit(params)
        case "terminal/kill":
            return await route.terminals.kill(params)
        case _:
            return await route.terminals.release(params)


def _offers(method: str, offered: Capabilities) -> bool:
    match method:
        case "session/request_permission":
            return True
        case "fs/read_text_file":
            return offered.read_text_file
        case "fs/write_text_file":
            return offered.write_text_file
        case "terminal/create" | "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
            return offered.terminal
        case _:
            return False
