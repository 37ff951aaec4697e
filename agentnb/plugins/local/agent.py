"""The local agent as an ACP agent: what it adds to the methods that all of agentnb's own agents share."""

from __future__ import annotations

import contextlib
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.folders import data_folder
from agentnb.plugins.acp_agent.agent import AcpAgent, slash_command
from agentnb.plugins.acp_agent.content import words
from agentnb.plugins.acp_agent.reply import AcpReply
from agentnb.plugins.acp_agent.session import open_store
from agentnb.plugins.acp_agent.stdio import serve
from agentnb.plugins.acp_agent.updates import update
from agentnb.plugins.local.connection_check import check_connection, pull
from agentnb.plugins.local.model_selection import ModelChoice
from agentnb.plugins.local.server import ServerTrouble
from agentnb.plugins.local.session import LocalSession
from agentnb.plugins.local.turn import run_turn
from agentnb.rpc_message import INTERNAL_ERROR, INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from agentnb.plugins.acp_agent.client import AcpClient
    from agentnb.plugins.acp_agent.client_requests import NewSession
    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.session import SessionStore
    from agentnb.plugins.local.settings import LocalSettings

MOST_SESSIONS = 200
"""The most conversations that are kept; a new one replaces the oldest."""
MODEL_NAME = re.compile(r"[\w.:/@-]{1,200}")


class LocalAgent(AcpAgent[LocalSession]):
    name = "local"
    title = "Local model"
    session_class = LocalSession
    commands: tuple[dict[str, Any], ...] = (
        slash_command("check", "Reports which servers and models were found, and what is wrong."),
        slash_command("chat", "Continues without tools."),
        slash_command("tools", "Uses tools again."),
        slash_command("pull", "Downloads a model to Ollama.", "MODEL, such as qwen3:4b"),
    )

    def __init__(self, store: SessionStore, client: AcpClient, *, version: str, settings: LocalSettings) -> None:
        super().__init__(store, client, version=version)
        self._selection = ModelChoice(settings, self._tell_options)

    async def new_session(self, params: NewSession) -> dict[str, Any]:
        """ACP `session/new`."""
        for record in self._store.records()[:-MOST_SESSIONS]:
            if record["session_id"] not in self._sessions:
                self._store.delete(record["session_id"])
        return await super().new_session(params)

    async def prepare(self) -> None:
        """Look for servers, which may have new models."""
        await self._selection.look()

    async def _tell_options(self) -> None:
        """Send the client the config options of its sessions, now that more is known about the models."""
        with contextlib.suppress(ConnectionError):  # the client left meanwhile
            for session in [*self._sessions.values()]:
                if options := self.options(session):
                    message = update("config_option_update", config_options=options)
                    await self._client.update(session.session_id, message)

    def options(self, session: LocalSession) -> list[dict[str, Any]]:
        return self._selection.options(session)

    def opened(self, session: LocalSession) -> dict[str, Any]:
        """Returns the answer to a request that opened *session*; it says if no model answers, and why."""
        answer = super().opened(session)
        if self._selection.model_of(session) is None:
            answer["_meta"] = {"agentnb": {"problem": self._selection.problem(session)}}
        return answer

    async def set_option(self, session: LocalSession, option_id: str, value: str | bool) -> None:
        self._selection.choose(session, option_id, value)
        await self._selection.learn(session)

    # -- turns --------------------------------------------------------------------------------------------------------

    def answer(self, session: LocalSession, prompt: list[ContentBlock]) -> tuple[AcpReply, Coroutine[Any, Any, None]]:
        reply = AcpReply(
            client=self._client,
            session=session,
            exchange=session.begin(msgspec.to_builtins(prompt)),
            capabilities=self._capabilities,
        )
        return reply, self._answer(reply, session, prompt)

    async def _answer(self, reply: AcpReply, session: LocalSession, prompt: list[ContentBlock]) -> None:
        command, _, rest = words(prompt).partition(" ")
        if command == "/check":
            await self._check_connection(reply, session)
        elif command == "/chat":
            session.without_tools = True
            await reply.send_text("The model gets no tools from now on; `/tools` gives them back.")
        elif command == "/tools":
            session.without_tools = False
            await reply.send_text("The model gets its tools again.")
        elif command == "/pull":
            await self._pull(reply, session, rest.strip())
        else:
            await run_turn(self._selection, reply, session, prompt)

    async def _check_connection(self, reply: AcpReply, session: LocalSession) -> None:
        call = await reply.start_tool("Test the connection to the model", "other")
        await call.update("in_progress")
        checked = await check_connection(self._selection.settings)
        await call.update("completed" if checked.works else "failed")
        lines = (line if line.startswith("- ") else f"\n{line}" for line in checked.lines)
        await reply.send_text("\n".join(lines).strip())
        await self._selection.look()
        await self._selection.tell(reply, session)

    async def _pull(self, reply: AcpReply, session: LocalSession, name: str) -> None:
        if not MODEL_NAME.fullmatch(name):
            raise RpcError(INVALID_PARAMS, "Give the model after /pull, as in `/pull qwen3:4b`")
        models = self._selection
        server = (await models.look()).pulls
        if server is None:
            raise RpcError(INTERNAL_ERROR, "No Ollama was found, and only Ollama can download models from here.")
        call = await reply.start_tool(f"Download {name}", "fetch")
        try:
            async for progress in pull(server, name):
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


def main(version: str, settings: LocalSettings) -> None:
    """Serve one client until it closes stdin."""
    serve("local", partial(LocalAgent, _store(), version=version, settings=settings))


def _store() -> SessionStore:
    """Returns the folder of conversations; if it cannot be made, they live as long as the process."""
    folder = data_folder() / "local" / "sessions"
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.parent.chmod(0o700)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return open_store(None)
    return open_store(str(folder) if os.access(folder, os.W_OK) else None)
