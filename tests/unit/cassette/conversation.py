"""Conversations to record: over a recorder tap, as a client and an agent would have it, or with an agent."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentnb import Session
from agentnb.agent.catalog import custom
from agentnb.cassette.recorder import CassetteRecorder
from agentnb.cassette.wire_tap import WireTap
from agentnb.host import Host

HOME = "/home/ada"
WORK = "/home/ada/fits"


class Conversation:
    """Sends the messages of both sides."""

    def __init__(self, tap: WireTap, cwd: str = WORK) -> None:
        self.tap = tap
        self.cwd = cwd
        self._id = 0

    def sent(self, **message: Any) -> None:
        self.tap.sent(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def received(self, **message: Any) -> None:
        self.tap.received(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def request(self, method: str, **params: Any) -> int:
        self._id += 1
        self.sent(id=self._id, method=method, params=params)
        return self._id

    def begin(self, session: str = "ses-abcdef") -> str:
        self.received(id=self.request("initialize", protocolVersion=1), result={"protocolVersion": 1})
        self.received(id=self.request("session/new", cwd=self.cwd, mcpServers=[]), result={"sessionId": session})
        return session

    def prompt(self, session: str, text: str, *blocks: Any) -> int:
        return self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}, *blocks])

    def update(self, session: str, kind: str, **update: Any) -> None:
        self.received(
            method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **update}}
        )

    def says(self, session: str, *pieces: str) -> None:
        for piece in pieces:
            self.update(session, "agent_message_chunk", content={"type": "text", "text": piece})

    def turn(self, session: str, prompt: str, *pieces: str) -> None:
        request = self.prompt(session, prompt)
        self.says(session, *pieces)
        self.received(id=request, result={"stopReason": "end_turn"})


def recorder(path: Path, **environment: str) -> CassetteRecorder:
    """Returns a recorder of a user named Ada."""
    return CassetteRecorder(path, environment, home=HOME)


@contextmanager
def recorded(path: Path, agent: str = "someone", **environment: str) -> Iterator[Conversation]:
    """Returns a conversation that Ada records, until the block ends."""
    recording = recorder(path, **environment)
    yield Conversation(recording.tap(agent))
    recording.close()


def lines(path: Path) -> list[dict[str, Any]]:
    """Returns a cassette's lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Writes a cassette of these lines; the last one's count is that of the lines."""
    rows = [*rows[:-1], {"end": {"lines": len(rows)}}]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def sections(path: Path) -> list[list[dict[str, Any]]]:
    """Returns a cassette's lines by session; the first line of each names the agent."""
    found: list[list[dict[str, Any]]] = []
    for row in lines(path)[1:-1]:
        if "agent" in row:
            found.append([])
        found[-1].append(row)
    return found


def turns(path: Path) -> int:
    """Returns the number of a cassette's turns."""
    return sum(row.get("method") == "session/prompt" for row in lines(path))


@contextmanager
def with_agent(command: Sequence[str], work: Path, cassette: Path | None = None, mode: str = "") -> Iterator[Session]:
    """Opens a session in a new host, recorded in or replayed from *cassette*."""
    work.mkdir(exist_ok=True)
    host = Host()
    try:
        with host.environment.cassette.scope(cassette, mode):
            spec = custom([sys.executable, *command], name=Path(command[0]).stem)
            yield Session(host.loop.call(lambda: host.open(spec, cwd=work, mode="allow")))
    finally:
        host.close()
