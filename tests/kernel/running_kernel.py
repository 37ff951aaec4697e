"""A real kernel process and its messages, grouped by the request that caused them."""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from jupyter_client.manager import KernelManager

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_client.blocking.client import BlockingKernelClient

ROOT = Path(__file__).parents[2]
WAIT_S = 120.0
ONE_KERNEL = pytest.mark.parametrize("kernel_name", ["ipykernel7"], indirect=True)
"""For tests with the same result on any kernel."""
_TELL = """
def _tell(channel, envelope, told=[]):
    if not told and type(envelope.action).__name__ == "ChatDelta":
        told.append(open("words", "w").close())
import agentnb.host
agentnb.host.current_host().listen(_tell)
"""


@dataclass
class Result:
    """One request's reply and outputs."""

    reply: dict[str, Any] = field(default_factory=dict)
    outputs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    idle: bool = False

    @property
    def status(self) -> str:
        return str(self.reply.get("status"))

    @property
    def error(self) -> str:
        return f"{self.reply.get('ename')}: {self.reply.get('evalue')}"

    @property
    def traceback(self) -> list[str]:
        return [line for kind, content in self.outputs if kind == "error" for line in content["traceback"]]

    @property
    def stdout(self) -> str:
        return "".join(content["text"] for kind, content in self.outputs if kind == "stream")

    @property
    def values(self) -> list[str]:
        return [content["data"]["text/plain"] for kind, content in self.outputs if kind == "execute_result"]

    def displayed(self, mime: str = "text/markdown") -> list[str]:
        kinds = ("display_data", "update_display_data", "execute_result")
        return [content["data"][mime] for kind, content in self.outputs if kind in kinds and mime in content["data"]]


def without_ports(sockets: str) -> dict[str, str]:
    """Returns settings without TCP ports: another process could take a free port before the kernel binds it."""
    return {} if sys.platform == "win32" else {"transport": "ipc", "ip": f"{sockets}/socket"}


class RunningKernel:
    """A kernel and its client."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient, folder: Path) -> None:
        self.folder = folder
        self.comm_messages: list[dict[str, Any]] = []
        self.manager = manager
        self.client = client
        self.results: dict[str, Result] = {}
        self.updated: set[str] = set()

    @classmethod
    @contextlib.contextmanager
    def started(cls, kernel_name: str, folder: Path) -> Iterator[RunningKernel]:
        """Starts a kernel of the kind *kernel_name* in *folder*."""
        with tempfile.TemporaryDirectory(prefix="kernel-") as sockets:
            yield from cls._started(KernelManager(kernel_name=kernel_name, **without_ports(sockets)), folder)

    @classmethod
    def _started(cls, manager: KernelManager, folder: Path) -> Iterator[RunningKernel]:
        manager.start_kernel(cwd=str(folder), env={**os.environ, "PYTHONPATH": str(ROOT)})
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=WAIT_S)
            yield cls(manager, client, folder)
        finally:
            client.stop_channels()
            if manager.has_kernel:
                manager.shutdown_kernel(now=True)
            client.context.destroy(linger=0)  # older versions of jupyter-client give the client a separate context

    @property
    def pid(self) -> int:
        return int(self.manager.provisioner.pid)  # type: ignore[union-attr]

    def descendants(self) -> list[psutil.Process]:
        return list(psutil.Process(self.pid).children(recursive=True))

    def run(self, code: str, *, clickable: bool = False, console: bool = False, timeout: float = WAIT_S) -> Result:
        """Runs *code* and waits for everything that it causes."""
        return self.finish(self.send(code, clickable=clickable, console=console), timeout=timeout)

    def send(self, code: str, *, clickable: bool = False, console: bool = False) -> str:
        """Requests *code* to be run; returns the request's id."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "stop_on_error": True}
        metadata = {"cellId": uuid.uuid4().hex} if clickable else {}
        message = self.client.session.msg(
            "execute_request", {**content, "allow_stdin": clickable or console}, metadata=metadata
        )
        self.client.shell_channel.send(message)
        message_id = str(message["header"]["msg_id"])
        self.results[message_id] = Result()
        return message_id

    def finish(self, message_id: str, *, timeout: float = WAIT_S) -> Result:
        """Waits until the request has its reply and the kernel is idle."""
        result = self.results[message_id]
        self.until(lambda: result.idle, timeout=timeout)
        while not result.reply:
            reply = self.client.get_shell_msg(timeout=timeout)
            parent = reply["parent_header"].get("msg_id")
            if parent in self.results:
                self.results[parent].reply = reply["content"]
        return result

    def until(self, ready: Callable[[], bool], *, timeout: float = WAIT_S) -> None:
        """Reads messages until *ready*."""
        deadline = time.monotonic() + timeout
        while not ready():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"not ready after {timeout} s: {self.results}")
            with contextlib.suppress(queue.Empty):
                self._take(self.client.get_iopub_msg(timeout=min(left, 1.0)))

    def until_busy(self, message_id: str) -> None:
        """Reads messages until the code has output."""
        self.until(lambda: bool(self.results[message_id].outputs))

    def until_update(self, display_id: str) -> None:
        """Reads messages until any cell or thread has replaced the display *display_id*."""
        self.until(lambda: display_id in self.updated)

    def notice_words(self) -> None:
        """Makes the agent's next text, from the next cell on, end `until_words`."""
        os.mkfifo(self.folder / "words")
        assert self.run(_TELL).status == "ok"

    def until_words(self) -> None:
        """Waits for an agent's text; once for each `notice_words`."""
        (self.folder / "words").read_bytes()
        (self.folder / "words").unlink()

    def comm(self, target: str, data: dict[str, Any]) -> str:
        """Opens a comm, as a page does; returns its id."""
        comm_id = uuid.uuid4().hex
        content = {"comm_id": comm_id, "target_name": target, "data": data}
        self.client.shell_channel.send(self.client.session.msg("comm_open", content))
        return comm_id

    def say(self, comm_id: str, message: dict[str, Any]) -> None:
        """Sends a message on a widget's comm, as a page does."""
        self.tell(comm_id, {"method": "custom", "content": message})

    def tell(self, comm_id: str, data: dict[str, Any]) -> None:
        """Sends a message on a comm without a widget, as a page does."""
        content = {"comm_id": comm_id, "data": data}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", content))

    def close_comm(self, comm_id: str) -> None:
        """Closes a comm, as a page does."""
        content = {"comm_id": comm_id, "data": {}}
        self.client.shell_channel.send(self.client.session.msg("comm_close", content))

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def _take(self, message: dict[str, Any]) -> None:
        kind = message["header"]["msg_type"]
        if kind == "comm_msg":
            self.comm_messages.append(message)
        if kind == "update_display_data":
            self.updated.add(message["content"]["transient"]["display_id"])
        result = self.results.get(message["parent_header"].get("msg_id", ""))
        if result is None:
            return
        if kind == "status":
            result.idle = result.idle or message["content"]["execution_state"] == "idle"
        else:
            result.outputs.append((kind, message["content"]))
