"""A kernel behind a gateway: jupyter_server's gateway client, a second server with its own files, a WebSocket.

The second server sees the same paths with other files, like another machine.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from websockets.sync.client import connect

from agentnb.server.request_table import wire_name
from tests.browser import server as jupyter
from tests.browser.server import TOKEN, Server
from tests.kernel.apart import apart
from tests.kernel.running_kernel import RunningKernel
from tests.unit.server.bytes_apart import bytes_apart
from tests.unit.server.websocket.attached_page import MirroringPage
from tests.unit.server.websocket.conftest import relay
from tests.unit.server.websocket.relay import Relay

__all__ = ["relay"]

LOST = b"Lost connection to Gateway"
PING_SECONDS = 0.5
WORDS = 400
BEGIN = """import agentnb, os
session = agentnb.start("eliza")
open("here.txt", "w").write("of the kernel's machine")
model = agentnb.chat(session).host.removeprefix("IPY_MODEL_")
print(model, session.chat.resource, os.environ.get("JPY_SESSION_NAME"))"""


@pytest.fixture
def tries() -> int:
    """How often the server reconnects to a lost gateway."""
    return 100


@pytest.fixture
def server(home: Path, kernelspecs: Path, tmp_path: Path, relay: Relay, tries: int) -> Iterator[Server]:
    """A server that gets its kernels from another server, through a relay."""
    folder = tmp_path / "shared-path"
    folder.mkdir()
    gateway = jupyter.start(home, folder, within=apart(folder))
    relay.lead_to(gateway.url)
    options = {"url": f"http://{relay.place}", "auth_token": TOKEN, "auth_scheme": "token"}
    options |= {"gateway_retry_interval": "0.1", "gateway_retry_interval_max": "1", "gateway_retry_max": str(tries)}
    server = jupyter.start(home, folder, *(f"--GatewayClient.{name}={value}" for name, value in options.items()))
    yield server
    server.stop()
    gateway.stop()


class GatewayPage(MirroringPage):
    """A page on a kernel's WebSocket, like JupyterLab's; it requests missing state again."""

    def __init__(self, server: Server, kernel: str) -> None:
        address = f"{server.url.replace('http', 'ws')}/api/kernels/{kernel}/channels?token={TOKEN}"
        self._end = ExitStack()
        self._socket = self._end.enter_context(connect(address, max_size=None, proxy=None))
        self._messages: list[dict[str, Any]] = []
        self.model, self.chat, self.session_name = self.run(BEGIN).split()
        super().__init__(f"page-{uuid.uuid4()}")
        self.follow(self.chat.removesuffix("/chat"), self.chat)

    def run(self, code: str) -> str:
        """Runs a cell; returns its printed text."""
        sent = self._tell(
            "execute_request", {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        )
        printed, is_idle = "", False
        while not is_idle:
            message = json.loads(self._socket.recv(timeout=120))
            if message["parent_header"].get("msg_id") == sent:
                assert message["msg_type"] != "error", message["content"]
                printed += message["content"].get("text", "") if message["msg_type"] == "stream" else ""
                is_idle = message["content"].get("execution_state") == "idle"
        return printed

    def send(self, message: dict[str, Any]) -> None:
        """See :meth:`MirroringPage.send`."""
        data = {"method": "custom", "content": message}
        self._tell("comm_msg", {"comm_id": self.model, "data": data})

    def receive(self) -> dict[str, Any]:
        """See :meth:`MirroringPage.receive`."""
        while True:
            try:
                message = json.loads(self._socket.recv(timeout=PING_SECONDS))
            except TimeoutError:
                self._say({"method": wire_name("ping"), "params": {}})
                continue
            content = message["content"].get("data", {}).get("content", {}) if message["msg_type"] == "comm_msg" else {}
            if content.get("to") == self.client_id:
                return {"buffers": (), **bytes_apart(content)}

    def close(self) -> None:
        self._end.close()

    def _notified(self, message: dict[str, Any]) -> None:
        try:
            super()._notified(message)
        except AssertionError:  # a gap: a page requests the state
            self.follow(self.chat)

    def _tell(self, kind: str, content: dict[str, Any]) -> str:
        header = {"msg_id": str(uuid.uuid4()), "msg_type": kind, "username": "", "session": "s", "version": "5.3"}
        whole = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "buffers": []}
        self._socket.send(json.dumps({**whole, "channel": "shell"}))
        return header["msg_id"]


def started(server: Server) -> str:
    """Starts a kernel; returns its id."""
    body = json.dumps({"name": "ipykernel7"}).encode()
    headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
    request = Request(f"{server.url}/api/kernels", data=body, headers=headers)  # noqa: S310 - loopback
    with urlopen(request, timeout=120) as answer:  # noqa: S310 - loopback
        return str(json.loads(answer.read())["id"])


def said_in(turn: Any) -> str:
    """Returns the agent's text in *turn*."""
    return "".join(part.content for part in turn.response_parts if hasattr(part, "message_id"))


def test_gateway_kernel_loses_nothing_when_the_network_drops(server: Server, relay: Relay) -> None:
    """Files arrive, and each word comes once although the network drops in mid-turn."""
    (server.folder / "here.txt").write_text("of the server", encoding="utf-8")
    page = GatewayPage(server, started(server))
    try:
        read = page.ask("readFile", channel=page.chat, path="here.txt")
        assert (read["buffers"], read["size"]) == ((b"of the kernel's machine",), 23)
        assert [entry["name"] for entry in page.ask("listFiles", channel=page.chat)["entries"]] == ["here.txt"]
        assert not Path(page.session_name).exists()
        module = page.ask("fetchModule", name="review")
        assert len(module["buffers"][0]) == module["size"] > 1_000

        turn = str(uuid.uuid4())
        message = {"text": f"/slow {WORDS} 20", "origin": {"kind": "user"}}
        page.dispatch(page.chat, {"type": "chat/turnStarted", "turnId": turn, "message": message})
        page.until(page.chat, lambda state: state.active_turn is not None and "5 6 7" in said_in(state.active_turn))
        relay.cut()
        wait_for_log(server, LOST)
        relay.mend()
        ended = page.until(page.chat, lambda state: any(each.id == turn for each in state.turns))
        assert said_in(ended.turns[-1]).split() == [str(number) for number in range(1, WORDS + 1)]
        assert len(ended.turns) == 1
    finally:
        page.close()


def wait_for_log(server: Server, words: bytes) -> None:
    """Waits until the server has logged *words*."""
    while not any(words in line for line in server.log):
        assert server.process.poll() is None
        server.reader.join(0.05)


def test_kernel_with_its_own_files_writes_and_undoes_only_those(kernelspecs: Path, tmp_path: Path) -> None:
    """As with a container: write and undo act on the kernel's files, never on this machine's."""
    folder = kernelspecs / "kernels/apart"
    folder.mkdir(exist_ok=True)
    argv = [
        *apart(tmp_path),
        sys.executable,
        "-Xfrozen_modules=off",
        "-m",
        "ipykernel_launcher",
        "-f",
        "{connection_file}",
    ]
    spec = {"argv": argv, "display_name": "apart", "language": "python", "metadata": {"debugger": False}}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    with RunningKernel.started("apart", tmp_path) as kernel:
        kernel.run("import agentnb, os\nsession = agentnb.start('eliza', permissions='allow')")
        kernel.run("turn = await session.prompt('/write notes.txt hello')")
        assert kernel.run("print(open('notes.txt').read())").stdout == "hello\n\n"
        assert [*tmp_path.iterdir()] == []
        kernel.run("turn.undo()")
        assert kernel.run("print(os.listdir())").stdout == "[]\n"
