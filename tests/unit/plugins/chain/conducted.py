"""A client at the top of a chain of real processes, which sees every message; and components for it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from agentnb.agent import AgentSpec
from agentnb.components import Component
from agentnb.plugins.chain.conductor.chain import ChainFailure
from agentnb.plugins.chain.conductor.running_chain import ClientPlace, RunningChain
from agentnb.rpc import ACP, Connection
from agentnb.rpc_message import RpcError
from tests.conftest import ROOT
from tests.unit.acp.recording_listener import scripted
from tests.unit.api.conftest import PATIENCE

PROXY = ROOT / "tests/agents/proxy.py"
PYTHON = f"{sys.executable} -S"
SESSION = "session-1"


class Refused(Exception):
    """The agent's or the chain's error answer; its text is the answer's message."""


def proxy(behaviour: str = "plain", form: str = "new", name: str = "proxy") -> AgentSpec:
    """Returns the component of `tests/agents/proxy.py` with one fault, or none."""
    return AgentSpec(name=name, title=name, command=(sys.executable, "-S", str(PROXY), behaviour, form))


def inner_conductor(*programs: str) -> AgentSpec:
    """Returns a conductor as a component, with its own components."""
    command = (sys.executable, "-m", "agentnb.plugins.chain.conductor", "proxy", *programs)
    return AgentSpec(name="conductor", title="conductor", command=command, env={"PYTHONPATH": str(ROOT)})


class Looks(Component):
    """Reads each update and changes nothing."""

    def on_update(self, session_id: str, update: dict[str, Any]) -> dict[str, Any] | None:
        return update


class Polite(Component):
    """Changes messages in both directions."""

    async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*prompt, {"type": "text", "text": " please"}]

    def on_update(self, session_id: str, update: dict[str, Any]) -> dict[str, Any] | None:
        return {**update, "content": {"type": "text", "text": f"<{update['content']['text']}>"}}


class Named(Component):
    """Says that the agent is OpenCode."""

    async def on_initialize(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "agentInfo": {**answer["agentInfo"], "title": "OpenCode"}}


class Client:
    """A client that remembers the messages it received."""

    def __init__(self, components: Sequence[Component | AgentSpec], agent: AgentSpec, **limits: float) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.failed: asyncio.Future[ChainFailure] = asyncio.get_running_loop().create_future()
        self.asked: list[tuple[str, Any]] = []
        self.spoken = asyncio.Event()
        self.answering = asyncio.Event()
        self.answering.set()
        place = ClientPlace(self._feed)
        self.running = RunningChain(place, components, agent, self.failed.set_result, **limits)
        self.connection = Connection(place.receive, ACP, on_notifications=self._hear, on_request=self._answer)

    @property
    def strays(self) -> dict[str, int]:
        return self.running.chain.strays

    @property
    def text(self) -> str:
        """Returns the agent's text so far."""
        updates = [params["update"] for method, params in self.heard if method == "session/update"]
        return "".join(update.get("content", {}).get("text", "") for update in updates)

    async def ask(self, method: str, **params: Any) -> Any:
        try:
            return await self.connection.request(method, params, PATIENCE)
        except RpcError as error:
            raise Refused(error.message) from None

    async def initialize(self) -> Any:
        return await self.ask("initialize", protocolVersion=1)

    async def open(self) -> Any:
        return await self.ask("session/new", cwd="/", mcpServers=[])

    async def prompt(self, text: str = "hi") -> Any:
        return await self.ask("session/prompt", sessionId=SESSION, prompt=[{"type": "text", "text": text}])

    async def talk(self) -> str:
        """Returns the stop reason of a whole conversation, from the beginning."""
        await self.initialize()
        await self.open()
        return str((await self.prompt())["stopReason"])

    def _hear(self, notifications: list[tuple[str, Any]]) -> None:
        self.heard += notifications
        self.spoken.set()

    def _feed(self, data: bytes) -> None:
        self.connection.feed(data)

    async def _answer(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append((method, params))
        await self.answering.wait()
        return {"outcome": {"outcome": "selected", "optionId": "yes"}}


@contextlib.asynccontextmanager
async def conducted(
    *components: Component | AgentSpec,
    agent: str | AgentSpec = "echo",
    ready: bool = True,
    patience: float = PATIENCE,
    start_patience: float = PATIENCE,
) -> AsyncIterator[Client]:
    """Runs a chain and yields its client; initialized and with a session if *ready*."""
    client = Client(
        components,
        scripted(agent) if isinstance(agent, str) else agent,
        patience=patience,
        start_patience=start_patience,
    )
    await client.running.start(Path.cwd())
    try:
        if ready:
            await client.initialize()
            await client.open()
        yield client
    finally:
        await client.running.stop(0.5)
