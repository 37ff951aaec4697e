"""One program that is connected to a paired kernel: its conversation, its turns and its calls.

It gets a conversation of its own, named after it. Its calls are the tool calls of turns: a turn begins with the first
call and ends when no call came for a while, so what a terminal agent did in one go is undone in one go.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, Protocol

from agentnb.acp.failure import RpcError
from agentnb.acp.mapper import map_update
from agentnb.agent.catalog import AgentSpec
from agentnb.clock import now_ms
from agentnb.errors import PermissionDenied, SessionError
from agentnb.host.conversation import Conversation
from agentnb.ids import new_id
from agentnb.kernel.content import said
from agentnb.kernel.paired_connection import ENDED, LINGER_SECONDS
from agentnb.kernel.paired_kernels import DESCRIBE
from agentnb.kernel.rpc import INVALID_REQUEST
from agentnb.kernel.server import McpServer
from agentnb.kernel.tools import TOOLS
from agentnb.policy.engine import NOBODY
from agentnb.state import (
    AgentProcess,
    Message,
    MessageKind,
    MessageOrigin,
    SessionReady,
    XAgentChanged,
)

if TYPE_CHECKING:
    from asyncio import TimerHandle
    from collections.abc import Callable

    from agentnb.kernel.rpc import JsonRpcConnection
    from agentnb.policy.request import PolicyRequest

PREFIX = "terminal-"
"""How the names of these agents begin: a program that calls itself ``claude`` is not the agent of that name."""
ANSWER_SECONDS = 300.0
"""How long a card waits for the user's answer."""
IDLE_SECONDS = 20.0
"""After how long without a call a turn ends."""
PROGRESS_SECONDS = 2.0
"""How often a client that wants it is told what its call waits for."""
STOPPED = "The user stopped this in the notebook's chat. Ask the user before you go on."
CLOSED = "The user closed this program's conversation in the notebook."
_TITLES = {
    "claude-code": "Claude Code",
    "codex-mcp-client": "Codex",
    "gemini-cli-mcp-client": "Gemini CLI",
    "opencode": "opencode",
}
_KINDS = {"run_code": "execute", "run_cell": "execute", "insert_cell": "edit", "replace_cell": "edit"}
_LONGEST_NAME = 40


class ClientOwner(Protocol):
    """The part of the pairing that a client needs (:class:`agentnb.host.pairing.pairing.Pairing`)."""

    idle_seconds: float
    progress_seconds: float

    @property
    def is_kernel_busy(self) -> bool:
        """Whether the main thread runs a cell that does not wait for a turn."""
        ...

    async def describe(self) -> dict[str, Any]:
        """What a program is told of the kernel before it chooses it."""
        ...

    def joined(self, client: PairedClient, spec: AgentSpec) -> PairedConversation:
        """The conversation of *client*, which has introduced itself as *spec*."""
        ...

    def left(self, client: PairedClient) -> None:
        """*client* is not connected any more."""


class PairedConversation(Conversation):
    """A conversation whose agent is a program in a terminal: it calls tools, and takes no prompts.

    Attributes:
        answer_seconds: How long a card waits for an answer.
        on_close: Called when the user closes it.
    """

    answer_seconds = ANSWER_SECONDS
    on_close: Callable[[str], None] = staticmethod(lambda _reason: None)

    async def close(self) -> None:
        """End it and its program's connection."""
        self.on_close(CLOSED)
        await super().close()

    async def _authorize_tool(self, request: PolicyRequest) -> PolicyRequest:
        try:
            return await asyncio.wait_for(super()._authorize_tool(request), self.answer_seconds)
        except PermissionDenied as denied:
            if NOBODY not in str(denied):
                raise
            message = f"{request.title}: no page shows the notebook, so nobody could be asked. Nothing was done."
            raise PermissionDenied(
                message, hint="Ask the user to open the notebook in a browser; then call again."
            ) from None
        except asyncio.TimeoutError:
            message = f"{request.title}: nobody answered the card in the notebook's chat for {self.answer_seconds:g} s."
            raise PermissionDenied(
                message, hint="Nothing was done. Ask the user to answer it, then call again."
            ) from None


class PairedClient(McpServer):
    """Serves one connection; it is a client from its ``initialize`` on.

    Args:
        pairing: What it belongs to.

    Attributes:
        conversation: Its conversation, once it has introduced itself.
    """

    def __init__(self, pairing: ClientOwner) -> None:
        super().__init__(self)
        self.conversation: PairedConversation | None = None
        self._pairing = pairing
        self._connection: JsonRpcConnection | None = None
        self._hang_up: Callable[[], object] = lambda: None
        self._calls = 0
        self._running = 0
        self._beginning = asyncio.Lock()
        self._idle: TimerHandle | None = None
        self._ended: str | None = None

    # --- the connection ---

    def opened(self, connection: JsonRpcConnection, hang_up: Callable[[], object]) -> None:
        """The connection is open; see :meth:`McpServer.opened`."""
        self._connection, self._hang_up = connection, hang_up

    def closed(self) -> None:
        """The connection has ended: so does the turn, and what it waited for is cancelled."""
        conversation, self.conversation = self.conversation, None
        self._end_idle()
        self._pairing.left(self)
        if conversation is None or conversation.closed:
            return
        conversation.on_close = lambda _reason: None
        if (active := conversation.chat.state.active_turn) is not None:
            if self._running:
                conversation.turns.cancel(active.id)
            else:
                conversation.turns.complete(active.id)
        stopped = AgentProcess(state="stopped", message="It is not connected any more. It can connect again.")
        conversation.dispatch(XAgentChanged(agent_process=stopped, time=now_ms()))

    def end(self, reason: str) -> None:
        """End the connection.

        Args:
            reason: Why, for the program.
        """
        if self._ended is not None:
            return
        self._ended = reason
        if self._connection is not None:
            self._connection.notify(ENDED, {"reason": reason})
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._hang_up)
        self.closed()

    # --- requests ---

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer one request; see :meth:`McpServer.request`."""
        if self._ended is not None:
            raise RpcError(INVALID_REQUEST, self._ended)
        if method == DESCRIBE:
            return await self._pairing.describe()
        if method == "initialize":
            self._introduce(params.get("clientInfo"))
        if method != "tools/call":
            return await super().request(method, params)
        if self.conversation is None:
            raise RpcError(INVALID_REQUEST, "Send initialize first.")
        return await self._with_progress(params)

    def _introduce(self, info: Any) -> None:
        if self.conversation is not None:
            raise RpcError(INVALID_REQUEST, "initialize was sent before.")
        given = info if isinstance(info, dict) else {}
        self.conversation = self._pairing.joined(self, spec_of_client(given))
        self.conversation.on_close = self.end
        version = given.get("version")
        running = AgentProcess(
            name=self.conversation.spec.title,
            version=version[:_LONGEST_NAME] if isinstance(version, str) else None,
            state="running",
        )
        self.conversation.dispatch(SessionReady(time=now_ms()))
        self.conversation.dispatch(XAgentChanged(agent_process=running, time=now_ms()))

    async def _with_progress(self, params: dict[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        call = asyncio.ensure_future(super().request("tools/call", params))
        times = 0
        try:
            while not (await asyncio.wait([call], timeout=None if token is None else self._pairing.progress_seconds))[
                0
            ]:
                times += 1
                progress = {"progressToken": token, "progress": times, "message": self._waits_for()}
                if self._connection is not None:
                    self._connection.notify("notifications/progress", progress)
            return call.result()
        except asyncio.CancelledError:
            call.cancel()
            raise

    def _waits_for(self) -> str:
        """What the running calls wait for, for people."""
        if self.conversation is not None and self.conversation.channels.waits_for_user:
            return "Waiting for your answer in the notebook's chat."
        if self._pairing.is_kernel_busy:
            return "The kernel is busy with a cell; waiting until it ends."
        return "Running."

    # --- calls ---

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Run the tool *name* in the running turn, or in a new one; see :class:`ToolCaller`."""
        conversation = self.conversation
        if conversation is None or conversation.kernel is None:
            raise RpcError(INVALID_REQUEST, "Send initialize first.")
        tool_runner = conversation.kernel.tool_runner()
        self._running += 1
        self._end_idle()
        try:
            turn_id = await self._turn(conversation)
            self._calls += 1
            call_id = f"{name}-{self._calls}-{turn_id[:8]}"
            self._show(conversation, turn_id, _begun(call_id, name, arguments))
            try:
                result = await tool_runner.call(name, arguments)
            except asyncio.CancelledError:
                self._show(conversation, turn_id, _ended(call_id, said("The program cancelled the call.", failed=True)))
                raise
            if result["isError"] and not conversation.channels.is_active(turn_id):
                result = said(STOPPED, failed=True)
            self._show(conversation, turn_id, _ended(call_id, result))
            return result
        finally:
            self._running -= 1
            if not self._running and self.conversation is not None:
                self._idle = conversation.host.loop.later(self._pairing.idle_seconds, self._complete, conversation)

    async def _turn(self, conversation: PairedConversation) -> str:
        """The running turn; a new one where none runs."""
        async with self._beginning:
            active = conversation.chat.state.active_turn
            if active is not None:
                return active.id
            turn_id, title = new_id(), conversation.spec.title
            origin = MessageOrigin(kind=MessageKind.SYSTEM_NOTIFICATION.value)
            message = Message(text=f"{title} uses this kernel.", origin=origin)
            await conversation.turns.begin_unprompted(turn_id, message)
            return turn_id

    def _complete(self, conversation: PairedConversation) -> None:
        self._idle = None
        if (active := conversation.chat.state.active_turn) is not None:
            conversation.turns.complete(active.id)

    def _end_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _show(self, conversation: PairedConversation, turn_id: str, update: dict[str, Any]) -> None:
        """Show a call as one of the conversation's, as that of an agent over ACP is shown."""
        if not conversation.closed:
            conversation.events.actions(map_update(update, conversation.chat.state, turn_id, now_ms()))


def spec_of_client(info: dict[str, Any]) -> AgentSpec:
    """The program as an agent.

    Args:
        info: What it says of itself (MCP ``clientInfo``); nothing of it is trusted.

    Example:
        >>> spec_of_client({"name": "claude-code", "version": "2.1"}).title
        'Claude Code (terminal)'
    """
    name = _clean(info.get("name")) or "a program"
    title = _clean(info.get("title")) or _TITLES.get(name, name)
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "program"
    return AgentSpec(
        name=f"{PREFIX}{word}",
        title=f"{title} (terminal)",
        about="A program in a terminal.",
        command=("agentnb", "mcp"),
    )


def read_only(title: str) -> SessionError:
    """Why the conversation of the program *title* takes no prompts."""
    return SessionError(f"{title} is used in its terminal.", hint="Type there; its calls are shown here.")


def _clean(text: Any) -> str:
    words = (
        "".join(each if each.isprintable() else " " for each in text[:_LONGEST_NAME]) if isinstance(text, str) else ""
    )
    return " ".join(words.split())


def _begun(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": TOOLS[name]["title"],
        "name": name,
        "kind": _KINDS.get(name, "read"),
        "status": "pending",
        "rawInput": arguments if isinstance(arguments, dict) else {},
    }


def _ended(call_id: str, result: dict[str, Any]) -> dict[str, Any]:
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": call_id,
        "status": "failed" if result["isError"] else "completed",
        "content": [{"type": "content", "content": block} for block in result["content"]],
    }
