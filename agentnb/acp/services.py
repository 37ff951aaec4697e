"""Routes the agent's requests to the service that answers each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.elicitation import map_elicitation
from agentnb.acp.mapper import keep_raw, permission_outcome
from agentnb.acp.permission import AcpPermissionRequest
from agentnb.clock import now_ms
from agentnb.rpc import answer_nothing
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.acp.listener import SessionListener
    from agentnb.acp.sessions import Sessions
    from agentnb.agent.catalog import Capabilities


def client_capabilities(offered: Capabilities) -> dict[str, Any]:
    """Returns what the agent is told that it may ask for (ACP ``ClientCapabilities``)."""
    files = {"readTextFile": offered.read_text_file, "writeTextFile": offered.write_text_file}
    capabilities: dict[str, Any] = {"fs": files, "terminal": offered.terminal}
    if offered.terminal:  # what an agent runs in a terminal of its own: some show it only to who can show it
        capabilities["_meta"] = {"terminal_output": True}
    if offered.elicitation:
        capabilities["elicitation"] = {"form": {}, "url": {}}
    session: dict[str, Any] = {"notices": {}, "compaction": {}}
    if offered.boolean_options:
        session["configOptions"] = {"boolean": {}}
    if offered.prompt_suggestions:
        session["promptSuggestions"] = {}
    capabilities["session"] = session
    if offered.terminal_login:
        capabilities["auth"] = {"terminal": True}
    return capabilities


async def serve(method: str, params: dict[str, Any], sessions: Sessions, offered: Capabilities) -> Any:
    """Answer one request of the agent."""
    if method.startswith("_"):
        return await (await sessions.extender(method, params)).extended(method, params)
    if not _offers(method, offered):
        return answer_nothing(method, params)
    if method == "elicitation/create":
        return await _elicit(params, await sessions.listener(params))
    route = await sessions.route(params)
    if method == "session/request_permission":
        return permission_outcome(await route.listener.permission(AcpPermissionRequest(params)))
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


async def _elicit(params: dict[str, Any], listener: SessionListener) -> dict[str, Any]:
    """Answer ``elicitation/create``; a request that cannot be shown is kept as it is in the running turn."""
    try:
        question = map_elicitation(params)
    except RpcError:
        if listener.chat.active_turn is not None:
            listener.actions(keep_raw("elicitation/create", params, listener.chat, now_ms()))
        raise
    return (await listener.elicit(question)).to_acp(question)


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
