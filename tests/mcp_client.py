"""A small MCP client on stdio, as the protocol describes it, for tests of ``agentnb mcp``.

https://modelcontextprotocol.io/specification/2025-06-18/basic
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

PATIENCE = 60.0


class McpClient:
    """A client and its server process.

    Args:
        words: The arguments of ``agentnb mcp``.
        name: The client's name.
        cwd: The server's working folder.
        env: Its environment.

    Attributes:
        notifications: The server's notifications.
        server: The server's answer to ``initialize``.
    """

    def __init__(
        self, *words: str, name: str = "claude-code", cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentnb", "mcp", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=cwd,
            env=env,
        )
        self.notifications: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._reading = threading.Thread(target=self._read)
        self._reading.start()
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        self.server = self.ask("initialize", params)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, method: str, params: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Sends a request."""
        number = len(self._waiting) + 1
        answer: Future[dict[str, Any]] = Future()
        self._waiting[number] = answer
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return answer

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return self.begin(method, params).result(PATIENCE)

    def tools(self) -> list[str]:
        """Returns the tools' names."""
        return [tool["name"] for tool in self.ask("tools/list", {})["tools"]]

    def begin_call(self, tool: str, **arguments: Any) -> Future[dict[str, Any]]:
        """Starts a call of *tool*."""
        return self.begin("tools/call", {"name": tool, "arguments": arguments, "_meta": {"progressToken": tool}})

    def call(self, tool: str, **arguments: Any) -> str:
        """Returns the text of *tool*'s result."""
        return said(self.begin_call(tool, **arguments).result(PATIENCE))

    @property
    def last_id(self) -> int:
        return len(self._waiting)

    def notify(self, method: str, **params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def until_told(self, tool: str, message: str) -> None:
        """Waits until the server reports *message* for the running call of *tool*."""
        progress = {"progressToken": tool, "message": message}
        while not progress.items() <= self.notifications.get(timeout=PATIENCE)["params"].items():
            pass

    def close(self) -> int:
        """Ends the server by closing its stdin, as a client does; returns its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self._gone()

    def kill(self) -> None:
        self.process.kill()
        self._gone()

    def _gone(self) -> int:
        status = self.process.wait(PATIENCE)
        self._reading.join(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        return status

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "id" not in message:
                self.notifications.put(message)
            elif "error" in message:
                self._waiting[message["id"]].set_exception(RuntimeError(message["error"]["message"]))
            else:
                self._waiting[message["id"]].set_result(message["result"])


def said(result: dict[str, Any]) -> str:
    """Returns the text of a tool's result."""
    return "\n".join(block.get("text", "") for block in result["content"])
