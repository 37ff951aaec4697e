"""Recorded conversations go through a chain of three components and come out unchanged.

The inside: components in Python, and each message to the byte.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agentnb.agent import AgentSpec
from agentnb.components import Component
from agentnb.plugins.chain.conductor.chain import ChainFailure
from agentnb.plugins.chain.conductor.running_chain import ClientPlace, RunningChain
from tests.conftest import ROOT
from tests.unit.api.conftest import PATIENCE
from tests.unit.plugins.chain.conducted import proxy


class Unchanged(Component):
    """Reads everything and changes nothing."""

    async def on_prompt(self, session_id: str, prompt: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return prompt

    def on_message(self, sender: str, receiver: str, line: bytes) -> None:
        json.loads(line)


def lines(recording: Path, direction: str) -> list[dict[str, Any]]:
    """Returns the messages of one direction, up to the agent's last."""
    entries = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    return [each["msg"] for each in entries if each["dir"] == direction and isinstance(each["msg"], dict)]


def turns_of(recording: Path) -> list[tuple[int, dict[str, Any]]]:
    """Returns the client's messages, each with the number of the agent's before it."""
    entries = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    heard, messages = 0, []
    for each in entries:
        if isinstance(each["msg"], dict) and each["dir"] == "agent->client":
            heard += 1
        elif isinstance(each["msg"], dict) and each["dir"] == "client->agent":
            messages.append((heard, each["msg"]))
    return messages


def as_bytes(message: dict[str, Any]) -> bytes:
    """Returns the message without its id, its members in the recording's order."""
    members = {name: message[name] for name in ("method", "params", "result", "error") if name in message}
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def bridging(message: dict[str, Any]) -> dict[str, Any]:
    """Returns the message as the conductor passes it on: an answer to initialize offers MCP over ACP."""
    able = (message.get("result") or {}).get("agentCapabilities")
    if able is None:
        return message
    able = {**able, "mcpCapabilities": {**able.get("mcpCapabilities", {}), "acp": True}}
    return {**message, "result": {**message["result"], "agentCapabilities": able}}


class Replay:
    """Plays the client's half of a recording: sends each message after all that precede it there.

    A prompt that is cancelled at once may never reach the agent, which then waits for it.
    """

    def __init__(self, recording: Path, components: list[Any]) -> None:
        self.mine = turns_of(recording)
        self.heard: list[bytes] = []
        self.requests: list[Any] = []
        self.arrived = asyncio.Event()
        self.place = ClientPlace(self.take)
        player = (sys.executable, "-S", str(ROOT / "tests/agents/replays_lines.py"), str(recording))
        agent = AgentSpec(name="player", title="player", command=player)
        self.ended: asyncio.Future[ChainFailure] = asyncio.get_running_loop().create_future()
        self.running = RunningChain(self.place, components, agent, self.ended.set_result)

    def take(self, data: bytes) -> None:
        self.heard += [line for line in data.split(b"\n") if line]
        self.arrived.set()

    async def play(self, expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Plays the client's half and returns the messages it receives: requests and answers wait for each other."""
        await self.running.start(ROOT)
        try:
            for before, message in self.mine:
                while len(self.heard) < before:
                    await self._more()
                await self._say(message)
            while len(self.heard) < len(expected):
                await self._more()
        finally:
            await self.running.stop(0.5)
        return [json.loads(line) for line in self.heard]

    async def _say(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            request_id = await self._request_id(message["id"])
            message = {**message, "id": request_id}
        self.place.receive(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _request_id(self, recorded: Any) -> Any:
        """Returns the current id of the agent's request recorded as *recorded*: requests keep their order."""
        if recorded not in self.requests:
            self.requests.append(recorded)
        at = self.requests.index(recorded)
        while len(request_ids := [each["id"] for each in self._messages() if "method" in each and "id" in each]) <= at:
            await self._more()
        return request_ids[at]

    def _messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.heard]

    async def _more(self) -> None:
        self.arrived.clear()
        await asyncio.wait_for(self.arrived.wait(), PATIENCE)


async def test_recordings_pass_three_components_unchanged(shared: Path, subtests: pytest.Subtests) -> None:
    """Each message of the agent is equal to the byte but for its id; the answer to initialize offers more."""
    recordings = sorted((shared / "transcripts").glob("*.jsonl"))
    assert recordings
    for number, recording in enumerate(recordings):
        with subtests.test(recording.name):
            program = [proxy()] if number == 0 else []
            expected = lines(recording, "agent->client")
            heard = await Replay(recording, [Unchanged(), Component(), Unchanged(), *program]).play(expected)
            assert [as_bytes(each) for each in heard] == [as_bytes(bridging(each)) for each in expected]
