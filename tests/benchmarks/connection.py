"""Chunks per second: our connection against the official SDK's client, same run, same agent, same messages.

An agent process floods a pipe with `session/update` lines and then answers the prompt; the time runs from the prompt to
its answer. Ours is measured twice: decoded, ordered and routed; and on top of that merged, mapped and reduced.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from agentnb.acp.agent import Agent
from agentnb.acp.opening import OpenRequest
from agentnb.acp.peer import Peer
from agentnb.agent import AgentSpec
from agentnb.agent.process import SpawnedAgent
from agentnb.policy.request import PolicyRequest
from agentnb.state import Action, ChatState, ChatTurnStarted, Message, MessageOrigin, reduce_chat
from tests.benchmarks.row import Row

ROOT = Path(__file__).parents[2]
FLOOD = (sys.executable, str(ROOT / "tests/agents/flood.py"))
SPEC = AgentSpec(name="flood", title="flood", command=FLOOD)
GOAL = 3.0
CHUNKS = 50_000
ROUNDS = 3


class Reducing:
    def __init__(self) -> None:
        message = Message(text="", origin=MessageOrigin(kind="user"))
        chat = ChatState(resource="x", title="", status=1, modified_at="1970-01-01T00:00:00.000Z", turns=())
        self.chat = reduce_chat(chat, ChatTurnStarted(turn_id="t", message=message, time=0))

    speaking = "t"

    def actions(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self.chat = reduce_chat(self.chat, action)

    async def permission(self, question: Any) -> str | None:
        raise NotImplementedError

    async def elicit(self, question: Any) -> Any:
        raise NotImplementedError

    def elicited(self, elicitation_id: str) -> None:
        raise NotImplementedError

    def extension(self, method: str, params: Any) -> None:
        raise NotImplementedError

    def refused(self, request: Any, error: Any) -> None:
        raise AssertionError(error)

    def opens(self, path: str, tool: str) -> bool:
        return False

    def answers(self, method: str) -> bool:
        return False

    async def extended(self, method: str, params: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def authorize(self, request: PolicyRequest) -> PolicyRequest:
        raise NotImplementedError

    def unsaved(self, path: str) -> None:
        return None

    def lost(self, error: Exception) -> None:
        pass


async def routed(chunks: int) -> float:
    """Returns the seconds to decode, order and route *chunks*."""
    seen = 0

    def route(batch: list[tuple[str, Any]]) -> None:
        nonlocal seen
        for method, params in batch:
            if method == "session/update" and params["sessionId"] and params["update"]:
                seen += 1

    async def nothing(*_: object) -> None:
        return None

    peer = Peer(SPEC, on_notifications=route, on_request=nothing, on_lost=nothing, tap=None, spawn=SpawnedAgent.spawn)
    await peer.spawn(Path.cwd(), None)
    await peer.request("initialize", {"protocolVersion": 1})
    new = await peer.request("session/new", {"cwd": "/", "mcpServers": []})
    began = time.perf_counter()
    await peer.request("session/prompt", {"sessionId": new["sessionId"], "prompt": text(chunks)}, 600)
    took = time.perf_counter() - began
    await peer.stop(patience=1)
    assert seen == chunks
    return took


async def reduced(chunks: int, spawn: Any = SpawnedAgent.spawn) -> float:
    """Returns the seconds to reduce *chunks*."""
    agent = await Agent.launch(SPEC, cwd=Path.cwd(), spawn=spawn)
    listener = Reducing()
    new = await agent.open_session(OpenRequest(cwd=str(Path.cwd())), listener)
    answered = asyncio.Event()
    began = time.perf_counter()
    message = Message(text=str(chunks), origin=MessageOrigin(kind="user"))
    agent.prompt(new.session_id, message, lambda _: answered.set())
    await answered.wait()
    took = time.perf_counter() - began
    await agent.stop(patience=1)
    assert listener.chat.active_turn is not None
    (part,) = listener.chat.active_turn.response_parts
    assert getattr(part, "content", "") == "word " * chunks
    return took


async def official(chunks: int) -> float:
    """Returns the seconds that the official SDK's client takes."""
    import acp

    class Client:
        def __init__(self) -> None:
            self.seen = 0
            self.all = asyncio.Event()

        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            self.seen += 1
            if self.seen == chunks:
                self.all.set()

    client: Any = Client()
    async with acp.spawn_agent_process(client, *FLOOD) as (connection, _):
        await connection.initialize(protocol_version=1)
        new = await connection.new_session(cwd=str(Path.cwd()), mcp_servers=[])
        began = time.perf_counter()
        await connection.prompt(session_id=new.session_id, prompt=[acp.text_block(str(chunks))])
        await client.all.wait()
        return time.perf_counter() - began


def text(chunks: int) -> list[dict[str, Any]]:
    return [{"type": "text", "text": str(chunks)}]


async def rate(measure: Callable[[int], Awaitable[float]], chunks: int) -> float:
    rates = [chunks / await measure(chunks) for _ in range(ROUNDS)]
    return float(statistics.median(rates))


def measure() -> list[Row]:
    return asyncio.run(_rows(CHUNKS))


async def _rows(chunks: int) -> list[Row]:
    theirs = await rate(official, chunks)
    beside: dict[str, Any] = {"unit": "chunks/s", "beside": theirs, "beside_name": "official SDK"}
    routed_rate, reduced_rate = await rate(routed, chunks), await rate(reduced, chunks)
    return [
        Row(what="our connection, decoded and routed", value=routed_rate, at_least=GOAL, **beside),
        Row(what="the same, mapped and reduced", value=reduced_rate, **beside),
    ]
