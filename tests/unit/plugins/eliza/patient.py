"""A client of the official SDK for a real eliza process, which records the agent's requests."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import acp
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AcceptElicitationResponse,
    AgentMessageChunk,
    AgentThoughtChunk,
    AllowedOutcome,
    CreateTerminalResponse,
    PromptResponse,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    ToolCallProgress,
    ToolCallStart,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from tests.unit.api.conftest import PATIENCE

ROOT = Path(__file__).parents[4]
COMMAND = (sys.executable, "-m", "agentnb.plugins.eliza")
ABLE = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}},
    "session": {"configOptions": {"boolean": {}}},
}


class Patient:
    """The client's side of one process; attributes set its answers to requests."""

    def __init__(self) -> None:
        self.choice = "allow_once"
        self.answers: dict[str, Any] = {}
        self.files: dict[str, str] = {}
        self.asked: list[Any] = []
        self.calls: list[tuple[Any, ...]] = []
        self.updates: list[tuple[str, Any]] = []
        self.connection: ClientSideConnection
        self.process: asyncio.subprocess.Process
        self._news = asyncio.Condition()

    # -- what tests ask -----------------------------------------------------------------------------------------------

    async def session(self, cwd: Path | str = "/work") -> str:
        return (await self.connection.new_session(cwd=str(cwd), mcp_servers=[])).session_id

    async def prompt(self, session_id: str, *content: Any) -> PromptResponse:
        blocks = [acp.text_block(block) if isinstance(block, str) else block for block in content]
        return await self.connection.prompt(session_id=session_id, prompt=blocks)

    async def hear(self, text: str, *blocks: Any) -> str:
        """Returns the text of the answer to a prompt in a new session."""
        session_id = await self.session()
        await self.prompt(session_id, text, *blocks)
        return self.text(session_id)

    def of(self, session_id: str, *kinds: type) -> list[Any]:
        return [update for known, update in self.updates if known == session_id and isinstance(update, kinds)]

    def text(self, session_id: str) -> str:
        return "".join(chunk.content.text for chunk in self.chunks(session_id))

    def chunks(self, session_id: str) -> list[Any]:
        return [chunk for chunk in self.of(session_id, AgentMessageChunk) if chunk.content.type == "text"]

    def thoughts(self, session_id: str) -> str:
        return "".join(chunk.content.text for chunk in self.of(session_id, AgentThoughtChunk))

    def tools(self, session_id: str) -> list[Any]:
        return self.of(session_id, ToolCallStart, ToolCallProgress)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Waits for the effect of an update or a request."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(happened), timeout=PATIENCE)

    async def _note(self) -> None:
        async with self._news:
            self._news.notify_all()

    # -- what eliza asks ----------------------------------------------------------------------------------------------

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        await self._note()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        await self._note()
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.choice))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> AcceptElicitationResponse:
        self.asked.append((message, mode))
        return AcceptElicitationResponse(action="accept", content=self.answers)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        if path not in self.files:
            raise acp.RequestError(-32002, "Resource not found", {"details": f"no {path}"})
        lines = self.files[path].splitlines(keepends=True)
        start = (line or 1) - 1
        return ReadTextFileResponse(content="".join(lines[start : start + limit if limit else None]))

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        self.files[path] = content
        return WriteTextFileResponse()

    async def create_terminal(
        self, session_id: str, command: str, args: list[str] | None = None, **rest: Any
    ) -> CreateTerminalResponse:
        self.calls.append(("create", command, *(args or [])))
        return CreateTerminalResponse(terminal_id="term-1")

    async def wait_for_terminal_exit(self, session_id: str, terminal_id: str, **_: Any) -> WaitForTerminalExitResponse:
        self.calls.append(("wait", terminal_id))
        await self._note()
        return WaitForTerminalExitResponse(exit_code=0)

    async def terminal_output(self, session_id: str, terminal_id: str, **_: Any) -> TerminalOutputResponse:
        return TerminalOutputResponse(output="hello\n", truncated=False)

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.calls.append(("kill", terminal_id))
        await self._note()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.calls.append(("release", terminal_id))
        await self._note()

    def on_connect(self, conn: Any) -> None:
        pass


def environment(**more: str) -> dict[str, str]:
    """Returns the environment of a process that imports agentnb from the checkout."""
    return {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep), **more}


@asynccontextmanager
async def visit(*, env: Mapping[str, str] | None = None, command: tuple[str, ...] = COMMAND) -> AsyncIterator[Patient]:
    """Starts a separate eliza or another agent, initializes it, and stops it at the end."""
    patient: Any = Patient()
    start = acp.spawn_agent_process(
        patient,
        *command,
        env=environment(**(env or {})),
        use_unstable_protocol=True,
        transport_kwargs={"limit": 2**24},
    )
    async with start as (connection, process):
        patient.connection, patient.process = connection, process
        await connection.initialize(1, client_capabilities=acp.schema.ClientCapabilities.model_validate(ABLE))
        yield patient
