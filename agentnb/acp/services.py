"""What we do for the agent: its requests, each brought to the service that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb import __version__
from agentnb.acp.failure import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from agentnb.acp.fields import objects

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.acp.sessions import Sessions
    from agentnb.agent.catalog import Capabilities


def client_capabilities(offered: Capabilities) -> dict[str, Any]:
    """What the agent is told that it may ask for (ACP ``ClientCapabilities``)."""
    files = {"readTextFile": offered.read_text_file, "writeTextFile": offered.write_text_file}
    capabilities: dict[str, Any] = {"fs": files, "terminal": offered.terminal}
    if offered.terminal:  # what an agent runs in a terminal of its own: some show it only to who can show it
        capabilities["_meta"] = {"terminal_output": True}
    if offered.elicitation:
        capabilities["elicitation"] = {"form": {}, "url": {}}
    if offered.boolean_options:
        capabilities["session"] = {"configOptions": {"boolean": {}}}
    if offered.terminal_login:
        capabilities["auth"] = {"terminal": True}
    return capabilities


def own_info() -> dict[str, str]:
    """Who we are (ACP ``clientInfo``)."""
    return {"name": "agentnb", "title": "agentnb", "version": __version__}


async def serve(method: str, params: dict[str, Any], sessions: Sessions, offered: Capabilities) -> Any:
    """Answer one request of the agent.

    Raises:
        RpcError: If we do not know the method, or did not offer it.
        AgentnbError: If it fails or is not allowed.
    """
    if method.startswith("_"):
        return await (await sessions.extender(method, params)).extended(method, params)
    if not _offers(method, offered):
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})
    if method == "elicitation/create":
        return await (await sessions.listener(params)).elicit(params)
    route = await sessions.route(params)
    if method == "session/request_permission":
        return await route.listener.permission(_permission(params))
    services: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
        "fs/read_text_file": route.files.read,
        "fs/write_text_file": route.files.write,
        "terminal/create": route.terminals.create,
        "terminal/output": route.terminals.output,
        "terminal/wait_for_exit": route.terminals.wait_for_exit,
        "terminal/kill": route.terminals.kill,
        "terminal/release": route.terminals.release,
    }
    return await services[method](params)


def _permission(params: dict[str, Any]) -> dict[str, Any]:
    """*params* of a permission request that can be answered.

    Raises:
        RpcError: If it names no tool call, or offers nothing to choose from.
    """
    if not isinstance(params.get("toolCall"), dict):
        raise RpcError(INVALID_PARAMS, "`toolCall` must be an object with a `toolCallId`.")
    if not any(isinstance(each.get("optionId"), str) for each in objects(params.get("options"))):
        raise RpcError(INVALID_PARAMS, "`options` must offer at least one option with an `optionId`.")
    return params


def _offers(method: str, offered: Capabilities) -> bool:
    match method:
        case "session/request_permission":
            return True
        case "elicitation/create":
            return offered.elicitation
        case "fs/read_text_file":
            return offered.read_text_file
        case "fs/write_text_file":
            return offered.write_text_file
        case "terminal/create" | "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
            return offered.terminal
        case _:
            return False
