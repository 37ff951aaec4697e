"""A terminal program as a paired kernel sees it: a connection to its socket, used from the main thread."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session
from agentnb.host.loop import HostLoop
from agentnb.kernel.paired_kernels import KernelGone, PairedConnection, paired_kernels
from tests.unit.api.conftest import PATIENCE
from tests.unit.host.kernels import Kernel
from tests.unit.kernel.shell_tools import Tools
from tests.unit.running import run


@pytest.fixture
def paired(kernel: Kernel, tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A paired kernel with a shell and an attached user, in the current folder."""
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    kernel.attend()
    kernel.connect(shell=tools)
    kernel.pair()
    return kernel


def kernels_found() -> int:
    """Returns how many paired kernels a program finds."""
    return len(run(paired_kernels()))


class Terminal:
    """One connected program."""

    def __init__(self, kernel: Kernel, name: str = "claude-code") -> None:
        self.kernel = kernel
        self.progress: list[str] = []
        self._loop = HostLoop()
        self._left = False
        (found,) = self._wait(paired_kernels())
        registration = found.registration
        self.connection = self._wait(PairedConnection.opened(registration.socket, registration.token))
        self.connection.on_notification = lambda _method, params: self.progress.append(params["message"])
        client = {"name": name, "version": "2.1.0"}
        self._wait(self.connection.request("initialize", {"protocolVersion": "2025-06-18", "clientInfo": client}))

    @property
    def session(self) -> Session:
        """Returns the conversation that the kernel opened last."""
        return Session(self.kernel.host.loop.call(lambda: self.kernel.host.pairing.connected[-1]))

    def answer_within(self, seconds: float) -> None:
        """Lets the cards of the program's calls wait so long."""
        self.kernel.host.pairing.connected[-1].answer_seconds = seconds

    def begin(self, name: str, *, meta: dict[str, Any] | None = None, **arguments: Any) -> Future[dict[str, Any]]:
        """Calls the tool; the main thread goes on."""
        params = {"name": name, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
        return self._loop.submit(self.connection.request("tools/call", params))

    def text(self, call: Future[dict[str, Any]]) -> str:
        """Returns the tool's text; the main thread runs what agents want meanwhile."""
        result = self.kernel.waited_for(call)
        return "\n".join(block.get("text", "") for block in result["content"])

    def call(self, name: str, **arguments: Any) -> str:
        """Calls the tool and returns its text."""
        return self.text(self.begin(name, **arguments))

    def failure(self, call: Future[dict[str, Any]] | None = None) -> str:
        """Returns the reason why the connection ended, which *call*, or a new one, gets."""
        with pytest.raises(KernelGone) as caught:
            (call or self.begin("variables")).result(PATIENCE)
        return str(caught.value)

    def leave(self) -> None:
        """Ends the connection; a second call does nothing."""
        if not self._left:
            self._left = True
            self._wait(self.connection.close())
            self._loop.stop()

    def _wait(self, work: Any) -> Any:
        return self._loop.submit(work).result(PATIENCE)
