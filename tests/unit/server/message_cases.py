"""The message cases of `tests/cases/messages`, and a kernel that receives them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentnb.agent.catalog import find
from agentnb.errors import AgentStartFailed
from agentnb.host import Host
from agentnb.host.changes.records import Item, TurnChangeRecord
from agentnb.host.host import ROOT
from agentnb.server.service import Service
from agentnb.state import ChatTurnComplete, ChatTurnStarted, Message, MessageOrigin, SimpleMessageAttachment
from agentnb.state.versions import WINDOW
from tests.unit.api.conftest import PATIENCE
from tests.unit.running import run
from tests.unit.server.manual_loop import ManualLoop
from tests.unit.server.world import TAB

FOLDER = Path(__file__).parents[2] / "cases/messages"
CASES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
HELLO = Message(text="hi", origin=MessageOrigin(kind="user"))
LARGE = SimpleMessageAttachment(label="numbers.txt", model_representation="0123456789" * 7_000)
CLIENT = "f2c7b8a4-1d3e-4f60-8a9b-7c6d5e4f3a2b"


def of(direction: str) -> dict[str, dict[str, Any]]:
    """Returns the cases of one direction, by name."""
    return {name: case for name, case in CASES.items() if case["direction"] == direction}


VERSIONS = [*range(WINDOW.current, WINDOW.oldest - 1, -1)]


class AnsweringLoop(ManualLoop):
    """Runs slow answers at once; a request that waits for an agent fails."""

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        if getattr(coroutine, "__qualname__", "") == "Connection._answer":
            run(coroutine)
            return self.done
        coroutine.close()
        return self._no_agent() if self._answers() else None

    def _answers(self) -> bool:
        try:
            return asyncio.get_running_loop().is_running()
        except RuntimeError:
            return False

    def _no_agent(self) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(AgentStartFailed("No agent comes here."))
        return future

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Runs *function* at once: the log's writer reports while the test waits for it."""
        function(*args)


class Kernel:
    """A service on a host with one session and no agent; if *known*, a page follows it."""

    def __init__(self, *, known: bool, log: Path | None = None, large: bool = False, changed: bool = False) -> None:
        self.loop = AnsweringLoop()
        self.host = Host(self.loop, log=log, place="analysis.ipynb")
        self.heard: list[Any] = []
        self.service = Service(self.host, lambda _client, message: self.heard.append(message))
        conversation = self.host.open(find("eliza"), cwd=Path.cwd(), tab_id=TAB)
        if changed:
            cell = Item(id="cell:c1", kind="cell", name="In [3]", status="changed", before="1 + 1", after="1 + 2")
            record = conversation.changes.record.with_turn(TurnChangeRecord(turn_id="t", items=(cell,)))
            run(conversation.changes.save(record))
        if log is not None or large or changed:
            message = replace(HELLO, attachments=(LARGE,)) if large else HELLO
            conversation.dispatch(ChatTurnStarted(turn_id="t", message=message))
            conversation.dispatch(ChatTurnComplete(turn_id="t"))
        if known:
            self._say("initialize", {"protocolVersions": VERSIONS, "visible": True})
            for uri in (conversation.session.uri, conversation.chat.uri):
                self._say("subscribe", {"channel": uri})
            assert self.heard[0]["result"]["snapshots"][0]["resource"] == ROOT
            assert self.heard[1]["result"]["snapshot"]["resource"] == conversation.session.uri
            self.heard.clear()

    def close(self) -> None:
        """Closes the log's writer."""
        if self.host.recorder is not None:
            self.host.recorder.close(PATIENCE)
        self.host.stores.close()

    def hear(self, message: Any) -> list[Any]:
        """Sends *message* and returns what the page receives within half a second."""
        self.service.receive(self.filled(message))
        self.loop.advance(500)
        return self.heard

    def filled(self, value: Any) -> Any:
        """Returns *value* with ``<hostId>`` replaced by this host's id."""
        return json.loads(json.dumps(value).replace("<hostId>", self.host.host_id))

    def _say(self, method: str, params: object) -> None:
        message = {
            "jsonrpc": "2.0",
            "v": WINDOW.current,
            "clientId": CLIENT,
            "id": 0,
            "method": method,
            "params": params,
        }
        self.service.receive(message)


def lacks(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Lists where *actual* lacks a part of *expected*: objects may have more keys, lists more items, in order."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        missing = [f"{path}.{key}: absent" for key in expected if key not in actual]
        return missing + [
            line for key in expected if key in actual for line in lacks(expected[key], actual[key], f"{path}.{key}")
        ]
    if isinstance(expected, list) and isinstance(actual, list):
        rest = iter(actual)
        return [
            f"{path}[{i}]: nothing like {one}"
            for i, one in enumerate(expected)
            if not any(not lacks(one, other) for other in rest)
        ]
    return [] if expected == actual else [f"{path}: {actual!r} instead of {expected!r}"]
