"""The MCP server of the kernel tools, for any transport (ACP ``mcp/message``, or a socket)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agentnb.acp.failure import answered
from agentnb.acp.fields import mapping
from agentnb.distribution import own_info
from agentnb.kernel.content import with_object
from agentnb.kernel.tools import kernel_tools
from agentnb.rpc import MCP, Connection, answer_nothing
from agentnb.rpc_message import INVALID_PARAMS, LONGEST_MESSAGE, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable


VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")  # of the protocol, the newest first
INSTRUCTIONS = (
    "These tools work on the Jupyter kernel and the notebook that the user has open. Look with `variables`, `inspect` "
    "and `cells` before you run code. `run_code` runs in the user's own namespace: do not overwrite variables that you "
    "did not create. Change cells with the tools for cells, not in the notebook's file: the user reviews the change "
    "in the cell. The user may deny a call; then suggest another way instead of repeating the call."
)


class ServerAbout(NamedTuple):
    name: str
    title: str
    instructions: str
    tools: dict[str, dict[str, Any]]


def kernel_server() -> ServerAbout:
    return ServerAbout("agentnb-kernel", "The user's Jupyter kernel", INSTRUCTIONS, kernel_tools())


class ToolCaller(Protocol):
    """Carries out calls of the kernel tools (:class:`agentnb.kernel.code_tools.ToolRunner`), or of a research."""

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Run the tool *name*; the result is an MCP ``CallToolResult``."""


class ToolMcpServer:
    """The MCP server of one connection."""

    def __init__(self, tool_runner: ToolCaller, about: ServerAbout | None = None) -> None:
        self._tool_runner = tool_runner
        self._about = kernel_server() if about is None else about

    def opened(self, connection: Connection, hang_up: Callable[[], object]) -> None:
        """The connection is open."""

    def closed(self) -> None:
        """The connection has ended; what was still asked is cancelled."""

    def notified(self, notifications: list[tuple[str, Any]]) -> None:
        """The client has sent notifications."""

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return self._initialized(params)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": list(self._about.tools.values())}
            case "tools/call":
                return await self._called(params)
        return answer_nothing(method, params)

    def _initialized(self, params: dict[str, Any]) -> dict[str, Any]:
        own, wanted = own_info(), params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self._about.name, "title": self._about.title, "version": own["version"]},
            "instructions": self._about.instructions,
        }

    async def _called(self, params: dict[str, Any]) -> dict[str, Any]:
        name = self._checked_name(params)
        return with_object(await self._tool_runner.call(name, params.get("arguments")))

    def _checked_name(self, params: dict[str, Any]) -> str:
        name = params.get("name")
        if not isinstance(name, str) or name not in self._about.tools:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}", {"tools": list(self._about.tools)})
        return name


def connect(server: ToolMcpServer, write: Callable[[bytes], object], longest: int = LONGEST_MESSAGE) -> Connection:
    """A connection on which *server* answers."""
    return Connection(
        write,
        MCP,
        on_request=lambda method, params: server.request(method, mapping(params)),
        on_notifications=server.notified,
        to_error=answered,
        longest=longest,
    )


class RecordedServer(ToolMcpServer):
    """Serves an agent on stdio; reports its tool calls, which are not on the agent's own wire, to a recorder."""

    def __init__(
        self,
        tool_runner: ToolCaller,
        recorder: Callable[[str, dict[str, Any]], Callable[[Any, BaseException | None], None]],
        about: ServerAbout | None = None,
    ) -> None:
        super().__init__(tool_runner, about)
        self._recorder = recorder

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "tools/call":
            return await super().request(method, params)
        record = self._recorder(method, params)
        try:
            result = await super().request(method, params)
        except BaseException as error:
            record(None, error)
            raise
        record(result, None)
        return result
