"""The MCP server on stdio for agents in a terminal (``agentnb mcp``): it finds paired kernels and serves their tools.

It decides nothing: calls go to the chosen kernel, which asks the policy and the user. Without a kernel it still lists
the tools, and each call says what the user has to do.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import mapping
from agentnb.acp.peer import read_input
from agentnb.errors import AgentnbError, UsageError
from agentnb.kernel.content import text_result
from agentnb.kernel.paired_kernels import (
    HOW_TO_PAIR,
    NONE_PAIRED,
    KernelGone,
    PairedConnection,
    choose_kernel,
    paired_kernels,
)
from agentnb.kernel.server import INSTRUCTIONS, VERSIONS, ServerAbout, ToolMcpServer, connect
from agentnb.kernel.tools import kernel_tools, tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.paired_kernels import PairedKernel
    from agentnb.rpc import Connection

PROGRESS = "notifications/progress"
_NOTEBOOK = {"type": "string", "description": "Its name or path, or the kernel's number, from `paired_notebooks`."}
NOTEBOOKS = tool(
    "paired_notebooks",
    "List notebooks",
    "Lists the notebooks whose kernels the user has paired, and which of them the other tools work on.",
    {},
    reads=True,
)
USE_NOTEBOOK = tool(
    "use_notebook",
    "Choose a notebook",
    "Chooses the notebook that the other tools work on. With only one paired it is chosen already.",
    {"notebook": _NOTEBOOK},
    "notebook",
    reads=True,
)
OWN_TOOLS = {each["name"]: each for each in (NOTEBOOKS, USE_NOTEBOOK)}


def terminal_server() -> ServerAbout:
    several = "Several notebooks can be paired: `paired_notebooks` lists them, `use_notebook` chooses one. "
    return ServerAbout(
        "agentnb", "The user's Jupyter notebooks", several + INSTRUCTIONS, {**OWN_TOOLS, **kernel_tools()}
    )


class TerminalServer(ToolMcpServer):
    def __init__(self, notebook: str = "") -> None:
        super().__init__(self, terminal_server())
        self._wanted = notebook
        self._introduction: dict[str, Any] = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": {}}
        self._kernel: PairedKernel | None = None
        self._connection: PairedConnection | None = None
        self._choosing = asyncio.Lock()
        self._tokens = itertools.count(1)
        self._progress: dict[str, Any] = {}
        self._client: Connection | None = None

    def opened(self, connection: Connection, hang_up: Callable[[], object]) -> None:
        del hang_up
        self._client = connection

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    def _initialized(self, params: dict[str, Any]) -> dict[str, Any]:
        answer = super()._initialized(params)
        self._introduction |= {
            "protocolVersion": answer["protocolVersion"],
            "clientInfo": mapping(params.get("clientInfo")),
        }
        return answer

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        return text_result(await (self._use(arguments) if name == "use_notebook" else self._listed()))

    async def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        is_own = self._checked_name(params) in OWN_TOOLS
        try:
            return await (super()._called(params) if is_own else self._forward(params))
        except AgentnbError as error:
            return text_result(str(error), failed=True)

    # --- which kernel ---

    async def _listed(self) -> str:
        kernels = await paired_kernels()
        if not kernels:
            return f"{NONE_PAIRED} {HOW_TO_PAIR}"
        used = None if self._kernel is None else self._kernel.registration
        return "\n".join(f"- {each.line}{' (in use)' if each.registration == used else ''}" for each in kernels)

    async def _use(self, arguments: Any) -> str:
        notebook = mapping(arguments).get("notebook")
        if not isinstance(notebook, str) or not notebook.strip():
            raise UsageError(
                "'notebook' of use_notebook is a string.", hint="`paired_notebooks` lists the paired ones."
            )
        async with self._choosing:
            await self._connect(notebook.strip())
        return f"The tools work on {'' if self._kernel is None else self._kernel.line} now."

    async def _connected(self) -> PairedConnection:
        """The connection to the chosen kernel, to the only one, or to the one that was named at the start."""
        async with self._choosing:
            connection = self._connection
            if connection is None:
                return await self._connect(self._wanted)
            if connection.ended is not None:
                self._kernel = self._connection = None
                raise connection.ended
            return connection

    async def _connect(self, wanted: str) -> PairedConnection:
        kernel = choose_kernel(await paired_kernels(), wanted)
        current = self._connection
        if current is not None and current.ended is None and self._kernel is not None:
            if kernel.registration == self._kernel.registration:
                return current
            await current.close()
        try:
            connection = await PairedConnection.opened(kernel.registration.socket, kernel.registration.token)
        except OSError as error:
            raise UsageError(f"The kernel of {kernel.line} cannot be connected to: {error}.") from None
        connection.on_notification = self._relay
        try:
            await connection.request("initialize", self._introduction)
        except BaseException:
            await connection.close()
            raise
        self._kernel, self._connection = kernel, connection
        return connection

    # --- its tools ---

    async def _forward(self, params: dict[str, Any]) -> dict[str, Any]:
        connection = await self._connected()
        wanted = mapping(params.get("_meta")).get("progressToken")
        sent: dict[str, Any] = {"name": params["name"], "arguments": params.get("arguments")}
        token = f"call-{next(self._tokens)}"
        if wanted is not None:
            self._progress[token] = wanted
            sent["_meta"] = {"progressToken": token}
        try:
            return await connection.request("tools/call", sent)
        except KernelGone:
            if self._connection is connection:
                self._kernel = self._connection = None
            raise
        finally:
            self._progress.pop(token, None)

    def _relay(self, method: str, params: dict[str, Any]) -> None:
        """Pass on the progress of a call, under the client's own token."""
        token = params.get("progressToken")
        if method == PROGRESS and token in self._progress and self._client is not None:
            self._client.notify(PROGRESS, {**params, "progressToken": self._progress[token]})


def serve(notebook: str = "") -> None:
    """Serve the client at stdin and stdout until stdin ends."""
    asyncio.run(_serve(notebook))


async def _serve(notebook: str) -> None:
    server, ended = TerminalServer(notebook), asyncio.Event()
    connection = connect(server, _write)
    server.opened(connection, connection.close)
    read_input(lambda data: connection.feed(data) if data else ended.set())
    await ended.wait()
    connection.close()
    await server.close()


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]
