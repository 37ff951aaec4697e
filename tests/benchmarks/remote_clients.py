"""Remote clients of one conversation (`agentnb.serve`): the kernel's cost for each, and their delay.

The clients are real WebSockets in a separate process. The agent sends 200 chunks a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

import agentnb
from agentnb.host import current_host
from agentnb.ids import new_id
from agentnb.state import (
    ChatDelta,
    ChatResponsePart,
    ChatTurnComplete,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
)
from tests.benchmarks.row import Row

MANY = 50
PER_SECOND = 200
SECONDS = 5.0
ROUNDS = 2
LISTEN = """
import asyncio, json, sys, time
from websockets.asyncio.client import connect
address, chat, *tokens = sys.argv[1:]
lags = []

async def listen(token, ready):
    async with connect(address, additional_headers={"Authorization": "Bearer " + token}, compression=None) as socket:
        params = {"channel": "ahp-root://", "protocolVersions": ["1.0.0"], "clientId": "me"}
        params["initialSubscriptions"] = [chat]
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}))
        await socket.recv()
        ready.set()
        async for text in socket:
            now = time.time()
            action = json.loads(text)["params"]["action"]
            if action["type"] == "chat/delta":
                lags.extend(now - float(each) for each in action["content"].split())
            if action["type"] == "chat/turnComplete":
                return

async def main():
    ready = [asyncio.Event() for _ in tokens]
    tasks = [asyncio.ensure_future(listen(token, each)) for token, each in zip(tokens, ready)]
    for each in ready:
        await each.wait()
    print("ready", flush=True)
    await asyncio.wait_for(asyncio.gather(*tasks), 120)
    lags.sort()
    print(json.dumps([len(lags) / len(tokens), lags[len(lags) // 2], lags[len(lags) * 99 // 100]]), flush=True)

asyncio.run(main())
"""


class Load(NamedTuple):
    """The result of one round.

    Attributes:
        cpu: Seconds of the kernel's CPU.
        heard: Chunks that each client got.
        lag: Median delay of a chunk in milliseconds.
        latest: The same for the slowest hundredth.
    """

    cpu: float
    heard: float
    lag: float
    latest: float


def measure() -> list[Row]:
    """Compares no client, one client and many."""
    session = agentnb.start("eliza", cwd=tempfile.mkdtemp())
    session.prompt("/say ready").wait()
    os.environ["JUPYTER_RUNTIME_DIR"] = tempfile.mkdtemp()
    with agentnb.serve() as server:
        tokens = [server.add_client(f"client {number}") for number in range(MANY)]
        nobody = min(_load(session, server.address, []).cpu for _ in range(ROUNDS))
        one, many = (
            min((_load(session, server.address, tokens[:count]) for _ in range(ROUNDS)), key=lambda load: load.cpu)
            for count in (1, MANY)
        )
    session.close()
    expected = PER_SECOND * SECONDS
    assert (one.heard, many.heard) == (expected, expected), (one, many)
    each = 1000 * (many.cpu - nobody) / MANY / SECONDS
    first = 1000 * max(one.cpu - nobody, 0.001) / SECONDS
    return [
        Row(
            what=f"one of {MANY} clients at {PER_SECOND} chunks/s, CPU",
            value=each,
            unit=" ms/s",
            beside=first,
            beside_name="one alone",
            at_most=2.0,
        ),
        Row(what=f"lag with {MANY} clients", value=many.lag, unit=" ms", beside=one.lag, beside_name="one alone"),
        Row(
            what=f"slowest 1 % with {MANY} clients",
            value=many.latest,
            unit=" ms",
            beside=one.latest,
            beside_name="one alone",
        ),
    ]


def _load(session: agentnb.Session, address: str, tokens: list[str]) -> Load:
    if not tokens:
        return Load(_cpu_of(session), 0, 0, 0)
    command = [sys.executable, "-c", LISTEN, address, f"ahp-chat:/{session.tab_id}", *tokens]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listening:
        assert listening.stdout is not None
        assert listening.stdout.readline() == "ready\n"
        cpu = _cpu_of(session)
        heard, lag, latest = json.loads(listening.stdout.read())
    return Load(cpu, heard, 1000 * lag, 1000 * latest)


def _cpu_of(session: agentnb.Session) -> float:
    """Returns the CPU seconds to produce and send all chunks."""
    begun = time.process_time()
    _speak(session)
    return time.process_time() - begun


def _speak(session: agentnb.Session) -> None:
    """Sends the time many times a second, in a turn that needs no agent."""
    host, name = current_host(), f"{session.agent}:/{session.tab_id}"
    conversation = host.conversations[name]
    turn = new_id()
    message = Message(text="Say the time.", origin=MessageOrigin(kind="user"))

    def say(*actions: object) -> None:
        for action in actions:
            conversation.dispatch(action)  # type: ignore[arg-type]

    part = ChatResponsePart(turn_id=turn, part=MarkdownResponsePart(id="p", content=""))
    host.loop.call(say, ChatTurnStarted(turn_id=turn, message=message, time=1), part)
    begun, clock = time.monotonic(), threading.Event()
    for number in range(int(PER_SECOND * SECONDS)):
        clock.wait(max(0.0, begun + number / PER_SECOND - time.monotonic()))
        host.loop.call(say, ChatDelta(turn_id=turn, part_id="p", content=f"{time.time():.4f} "))
    host.loop.call(say, ChatTurnComplete(turn_id=turn, time=2))
