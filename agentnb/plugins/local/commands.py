"""The slash commands of the chat."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentnb.plugins.local.connection_check import check_connection
from agentnb.plugins.local.connection_check import pull as download
from agentnb.plugins.local.server import ServerTrouble
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from agentnb.plugins.acp_agent.reply import AcpReply
    from agentnb.plugins.local.model_selection import ModelChoice
    from agentnb.plugins.local.session import LocalSession

MODEL_NAME = re.compile(r"[\w.:/@-]{1,200}")


async def check(models: ModelChoice, reply: AcpReply, session: LocalSession) -> None:
    """Report which servers and models were found, and what is wrong."""
    call = await reply.start_tool("Test the connection to the model", "other")
    await call.update("in_progress")
    checked = await check_connection(models.settings)
    await call.update("completed" if checked.works else "failed")
    await reply.send_text("\n".join(line if line.startswith("- ") else f"\n{line}" for line in checked.lines).strip())
    await models.look()
    await models.tell(reply, session)


async def pull(models: ModelChoice, reply: AcpReply, session: LocalSession, name: str) -> None:
    if not MODEL_NAME.fullmatch(name):
        raise RpcError(INVALID_PARAMS, "Give the model after /pull, as in `/pull qwen3:4b`")
    server = (await models.look()).pulls
    if server is None:
        raise RpcError(INTERNAL_ERROR, "No Ollama was found, and only Ollama can download models from here.")
    call = await reply.start_tool(f"Download {name}", "fetch")
    try:
        async for progress in download(server, name):
            await call.update("in_progress", title=f"Download {name}: {progress}")
    except ServerTrouble as trouble:
        await call.update("failed")
        raise RpcError(INTERNAL_ERROR, str(trouble)) from None
    except BaseException:
        await call.update("failed")
        raise
    await call.update("completed", title=f"Downloaded {name}")
    await models.look()
    if session.model is None and models.settings.model is None:
        session.model = next((value for value in models.names if value in {name, f"{name}:latest"}), None)
    await models.tell(reply, session)
    await reply.send_text(f"{name} is available.")


async def use_tools(reply: AcpReply, session: LocalSession, *, wanted: bool) -> None:
    session.without_tools = not wanted
    without = "The model gets no tools from now on; `/tools` gives them back."
    await reply.send_text("The model gets its tools again." if wanted else without)
