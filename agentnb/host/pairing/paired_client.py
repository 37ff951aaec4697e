"""One program that is connected to a paired kernel: its conversation, its turns and its calls.

It gets a conversation of its own, named after it. Its calls are the tool calls of turns: a turn begins with the first
call and ends when no call came for a while, so what a terminal agent did in one go is undone in one go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from agentnb.acp.served_calls import begun_call, ended_call
from agentnb.clock import now_ms
from agentnb.errors import PermissionDenied, SessionError
from agentnb.host.agents.client_spec import client_spec
from agentnb.host.conversation import Conversation
from agentnb.host.turns.unprompted import UnpromptedTurns
from agentnb.kernel.content import said
from agentnb.kernel.tools import kernel_tools
from agentnb.policy.engine import NOBODY
from agentnb.state import (
    AgentProcess,
    SessionReady,
    XAgentChanged,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.agent.catalog import AgentSpec
    from agentnb.kernel.paired_server import ClientInfo
    from agentnb.policy.request import PolicyRequest

PREFIX = "terminal-"
"""How the names of these agents begin: a program that calls itself ``claude`` is not the agent of that name."""
ANSWER_SECONDS = 300.0
"""How long a card waits for the user's answer."""
IDLE_SECONDS = 20.0
"""After how long without a call a turn ends."""
PROGRESS_SECONDS = 2.0
"""How often a client that wants it is told what its call waits for."""
CANCELLED = "The program cancelled the call."
LEFT = "The connection to the kernel has ended."
STOPPED = "The user stopped this in the notebook's chat. Ask the user before you go on."
CLOSED = "The user closed this program's conversation in the notebook."
_TITLES = {
    "claude-code": "Claude Code",
    "codex-mcp-client": "Codex",
    "gemini-cli-mcp-client": "Gemini CLI",
    "opencode": "opencode",
}


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
    """A conversation whose agent is a program in a terminal: it calls tools, and takes no prompts."""

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


class PairedClient:
    """The program at the other end of one connection (:class:`agentnb.kernel.paired_server.Program`)."""

    def __init__(self, owner: ClientOwner) -> None:
        self.conversation: PairedConversation | None = None
        self.end_connection: Callable[[str], object] = lambda _reason: None
        self._owner = owner
        self._calls = 0
        self._turns: UnpromptedTurns | None = None

    @property
    def progress_seconds(self) -> float:
        """How often the program is told what its call waits for."""
        return self._owner.progress_seconds

    @property
    def waits_for(self) -> str:
        """What its calls wait for, for people."""
        if self.conversation is not None and self.conversation.channels.waits_for_user:
            return "Waiting for your answer in the notebook's chat."
        if self._owner.is_kernel_busy:
            return "The kernel is busy with a cell; waiting until it ends."
        return "Running."

    async def describe(self) -> dict[str, Any]:
        """What a program is told of the kernel before it chooses it."""
        return await self._owner.describe()

    def introduce(self, info: ClientInfo) -> None:
        """The program says who it is, and gets its conversation."""
        conversation = self.conversation = self._owner.joined(self, spec_of_client(info))
        conversation.on_close = self.end
        self._turns = UnpromptedTurns(conversation, f"{conversation.spec.title} uses this kernel.")
        running = AgentProcess(name=conversation.spec.title, version=info.version or None, state="running")
        conversation.dispatch(SessionReady(time=now_ms()))
        conversation.dispatch(XAgentChanged(agent_process=running, time=now_ms()))

    def end(self, reason: str) -> None:
        """End the connection."""
        self.end_connection(reason)
        self.leave()

    def leave(self) -> None:
        """The connection has ended: so does the turn, and what it waited for is cancelled."""
        conversation, self.conversation = self.conversation, None
        if self._turns is not None:
            self._turns.stop_waiting()
        self._owner.left(self)
        if conversation is None or conversation.closed:
            return
        conversation.on_close = lambda _reason: None
        if (active := conversation.chat.state.active_turn) is not None:
            if self._turns is not None and self._turns.running:
                conversation.turns.cancel(active.id)
            else:
                conversation.turns.complete(active.id)
        stopped = AgentProcess(state="stopped", message="It is not connected any more. It can connect again.")
        conversation.dispatch(XAgentChanged(agent_process=stopped, time=now_ms()))

    # --- calls ---

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Run the tool *name* in the running turn, or in a new one; see :class:`ToolCaller`."""
        conversation, turns = self.conversation, self._turns
        if conversation is None or conversation.kernel is None or turns is None:
            return said(LEFT, failed=True)
        if name not in kernel_tools():  # the program's own plug-ins may be others than the kernel's
            return said(f"This kernel has no tool {name!r}.", failed=True)
        tool_runner = conversation.kernel.tool_runner()
        try:
            turn_id = await turns.enter()
            self._calls += 1
            call_id = f"{name}-{self._calls}-{turn_id[:8]}"
            title, kind = kernel_tools()[name]["title"], _kind(name)
            chat = conversation.chat.state
            begun = begun_call(chat, turn_id, call_id, name, title=title, kind=kind, arguments=arguments, time=now_ms())
            conversation.events.actions(begun)
            try:
                result = await tool_runner.call(name, arguments)
            except asyncio.CancelledError:
                _show_end(conversation, turn_id, call_id, said(CANCELLED, failed=True))
                raise
            if result["isError"] and not conversation.channels.is_active(turn_id):
                result = said(STOPPED, failed=True)
            _show_end(conversation, turn_id, call_id, result)
            return result
        finally:
            turns.leave(None if self.conversation is None else self._owner.idle_seconds)


def _kind(name: str) -> str:
    """The kind of the tool *name*, as agents name kinds."""
    if kernel_tools()[name]["annotations"]["readOnlyHint"]:
        return "read"
    return "execute" if name.startswith("run_") else "edit"


def spec_of_client(info: ClientInfo) -> AgentSpec:
    """The program as an agent."""
    name = info.name or "a program"
    title = info.title or _TITLES.get(name, name)
    return client_spec(
        PREFIX, name, title=f"{title} (terminal)", about="A program in a terminal.", command=("agentnb", "mcp")
    )


def read_only(title: str) -> SessionError:
    """Why the conversation of the program *title* takes no prompts."""
    return SessionError(f"{title} is used in its terminal.", hint="Type there; its calls are shown here.")


def _show_end(conversation: PairedConversation, turn_id: str, call_id: str, result: Any) -> None:
    if not conversation.closed:
        conversation.events.actions(ended_call(conversation.chat.state, turn_id, call_id, result, now_ms()))
