"""A terminal program as a paired kernel sees it: a connection to its socket, used from the main thread."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from agentnb.host import Host
from agentnb.host.loop import HostLoop
from agentnb.host.pairing import PairedConversation
from agentnb.kernel.paired_kernels import PairedConnection, paired_kernels
from tests.unit.api.conftest import PATIENCE
from tests.unit.kernel.shell_tools import waited_for


class Terminal:
    """One connected program."""

    def __init__(self, host: Host, name: str = "claude-code") -> None:
        self.host = host
        self.progress: list[str] = []
        self._loop = HostLoop()
        self._left = False
        (kernel,) = self._wait(paired_kernels())
        registration = kernel.registration
        self.connection = self._wait(PairedConnection.opened(registration.socket, registration.token))
        self.connection.on_notification = lambda _method, params: self.progress.append(params["message"])
        client = {"name": name, "version": "2.1.0"}
        self._wait(self.connection.request("initialize", {"protocolVersion": "2025-06-18", "clientInfo": client}))

    @property
    def conversation(self) -> PairedConversation:
        """Returns the conversation that the kernel opened last."""
        return self.host.loop.call(lambda: self.host.pairing.connected[-1])

    def begin(self, name: str, *, meta: dict[str, Any] | None = None, **arguments: Any) -> Future[dict[str, Any]]:
        """Calls the tool; the main thread goes on."""
        params = {"name": name, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
        return self._loop.submit(self.connection.request("tools/call", params))

    def text(self, call: Future[dict[str, Any]]) -> str:
        """Returns the tool's text; the main thread runs what agents want meanwhile."""
        result = waited_for(self.host.environment.job_queue, call)
        return "\n".join(block.get("text", "") for block in result["content"])

    def call(self, name: str, **arguments: Any) -> str:
        """Calls the tool and returns its text."""
        return self.text(self.begin(name, **arguments))

    def leave(self) -> None:
        """Ends the connection; a second call does nothing."""
        if not self._left:
            self._left = True
            self._wait(self.connection.close())
            self._loop.stop()

    def _wait(self, work: Any) -> Any:
        return self._loop.submit(work).result(PATIENCE)
