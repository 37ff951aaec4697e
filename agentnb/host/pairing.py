"""Programs from elsewhere, each with a conversation and a log: agents in a terminal, paired with this kernel."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentnb.acp.mapper import begun_call, ended_call
from agentnb.agent.catalog import AgentSpec
from agentnb.clock import now_ms
from agentnb.errors import AgentnbError, NotOffered, PermissionDenied, SessionError
from agentnb.host.channels import PAIRED, PAIRING
from agentnb.host.conversation import Conversation
from agentnb.host.session_options import SessionOptions
from agentnb.ids import new_id
from agentnb.kernel.content import text_result
from agentnb.kernel.local_server import SocketServer
from agentnb.kernel.paired_kernels import LINGER_SECONDS, PairedServer, register, unregister
from agentnb.kernel.tools import kernel_tools
from agentnb.log.location import log_place
from agentnb.policy.engine import NOBODY
from agentnb.site_policy import site_policy
from agentnb.state import (
    AgentProcess,
    Message,
    MessageKind,
    MessageOrigin,
    RootConfigChanged,
    SessionReady,
    XAgentChanged,
)

if TYPE_CHECKING:
    from asyncio import TimerHandle
    from collections.abc import Awaitable, Callable

    from agentnb.host.host import Host
    from agentnb.kernel.paired_kernels import ClientInfo
    from agentnb.policy.request import PolicyRequest
    from agentnb.state import ActionOrigin


T = TypeVar("T")
C = TypeVar("C", bound=Conversation)

NOTEBOOK = "notebook-"
"""The prefix of the agent's name if the notebook itself made an undoable change."""
ANSWER_SECONDS = 300.0
"""Seconds that a card waits for the user's answer."""
IDLE_SECONDS = 20.0
"""Seconds without a call or a change after which a turn ends."""


def client_spec(prefix: str, name: str, *, title: str, about: str, command: tuple[str, ...]) -> AgentSpec:
    word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "program"
    return AgentSpec(name=f"{prefix}{word}", title=title, about=about, command=command)


def open_for(kind: type[C], host: Host, options: SessionOptions, read_only: SessionError, *, title: str) -> C:
    """Open a new conversation for a program; *read_only*: why it takes no prompts."""
    configured = options.configuration(host.environment)
    conversation = kind(host, configured, tab_id=new_id(), title=title)
    host.adopt(conversation)
    conversation.restored(None, read_only)
    return conversation


def show_running(conversation: Conversation, version: str | None = None) -> None:
    """Show that the program is connected, and why its conversation takes no messages."""
    why = None if conversation.barred is None else str(conversation.barred)
    running = AgentProcess(name=conversation.spec.title, version=version, state="running", message=why)
    conversation.dispatch(SessionReady(time=now_ms()))
    conversation.dispatch(XAgentChanged(agent_process=running, time=now_ms()))


async def answered_within(seconds: float, answer: Awaitable[T], title: str, retry: str) -> T:
    """Returns the user's *answer* to a card; raises PermissionDenied if it takes more than *seconds*."""
    try:
        return await asyncio.wait_for(answer, seconds)
    except asyncio.TimeoutError:
        message = f"{title}: no one answered the card in the notebook's chat for {seconds:g} s."
        hint = f"Nothing was done. Ask the user to answer it, then {retry} again."
        raise PermissionDenied(message, hint=hint) from None


class UnpromptedTurns:
    """The turns of one conversation whose agent is a program that takes no prompts. On the host's thread."""

    def __init__(self, conversation: Conversation, words: str) -> None:
        self.running: int = 0
        self._conversation = conversation
        self._words = words
        self._beginning = asyncio.Lock()
        self._idle: TimerHandle | None = None

    async def enter(self) -> str:
        """Begin a call, in the running turn or a new one; returns the turn's id. :meth:`leave` ends the call."""
        self.running += 1
        self.stop_waiting()
        async with self._beginning:
            active = self._conversation.chat.state.active_turn
            if active is not None:
                return active.id
            turn_id = new_id()
            origin = MessageOrigin(kind=MessageKind.SYSTEM_NOTIFICATION.value)
            await self._conversation.turns.begin_unprompted(turn_id, Message(text=self._words, origin=origin))
            return turn_id

    def leave(self, idle_seconds: float | None) -> None:
        """End a call; the turn ends *idle_seconds* after the last one, or is left open if that is None."""
        self.running -= 1
        if not self.running and idle_seconds is not None:
            self._idle = self._conversation.host.loop.later(idle_seconds, self._complete)

    def stop_waiting(self) -> None:
        """Do not end the running turn for lack of calls."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _complete(self) -> None:
        self._idle = None
        active = self._conversation.chat.state.active_turn
        if active is not None and not self._conversation.closed:
            self._conversation.turns.complete(active.id)


PREFIX = "terminal-"
"""The prefix of these agents' names: a program that calls itself ``claude`` is not the agent with that name."""
PROGRESS_SECONDS = 2.0
"""Seconds between two progress messages to a client whose call waits."""
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
UNPAIRED = "The user ended the pairing of this kernel."
KERNEL_ENDED = "The kernel has ended or was restarted."
_NOTEBOOK_SECONDS = 2.0


class PairedConversation(Conversation):
    """A conversation whose agent is a program in a terminal: it calls tools, and takes no prompts."""

    takes_prompts = False
    answer_seconds = ANSWER_SECONDS
    on_close: Callable[[str], None] = staticmethod(lambda _reason: None)

    async def close(self) -> None:
        self.on_close(CLOSED)
        await super().close()

    async def _authorize_tool(self, request: PolicyRequest) -> PolicyRequest:
        answer = super()._authorize_tool(request)
        try:
            return await answered_within(self.answer_seconds, answer, request.title, "call")
        except PermissionDenied as denied:
            if NOBODY not in str(denied):
                raise
            message = (
                f"{request.title}: the notebook is not open in a page, so no one could be asked. Nothing was done."
            )
            hint = "Ask the user to open the notebook in a browser; then call again."
            raise PermissionDenied(message, hint=hint) from None


class PairedClient:
    """The program at the other end of one connection (:class:`agentnb.kernel.paired_kernels.Program`)."""

    def __init__(self, owner: KernelPairing) -> None:
        self.conversation: PairedConversation | None = None
        self.end_connection: Callable[[str], object] = lambda _reason: None
        self.describe = owner.describe
        self._owner = owner
        self._calls = 0
        self._turns: UnpromptedTurns | None = None

    @property
    def progress_seconds(self) -> float:
        return self._owner.progress_seconds

    @property
    def waits_for(self) -> str:
        if self.conversation is not None and self.conversation.channels.waits_for_user:
            return "Waiting for your answer in the notebook's chat."
        if self._owner.is_kernel_busy:
            return "The kernel is busy with a cell; waiting until it ends."
        return "Running."

    def introduce(self, info: ClientInfo) -> None:
        """The program identifies itself, and gets its conversation."""
        name = info.name or "a program"
        title = f"{info.title or _TITLES.get(name, name)} (terminal)"
        spec = client_spec(PREFIX, name, title=title, about="A program in a terminal.", command=("agentnb", "mcp"))
        conversation = self.conversation = self._owner.joined(self, spec)
        conversation.on_close = self.end
        self._turns = UnpromptedTurns(conversation, f"{conversation.spec.title} uses this kernel.")
        show_running(conversation, info.version or None)

    def end(self, reason: str) -> None:
        self.end_connection(reason)
        self.leave()

    def leave(self) -> None:
        """The connection has ended: end the turn, and cancel what it waited for."""
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
        stopped = AgentProcess(state="stopped", message="It is no longer connected. It can connect again.")
        conversation.dispatch(XAgentChanged(agent_process=stopped, time=now_ms()))

    # --- calls ---

    async def call(self, name: str, arguments: Any) -> dict[str, Any]:
        """Run the tool *name* in the running turn, or in a new one; see :class:`ToolCaller`."""
        conversation, turns = self.conversation, self._turns
        if conversation is None or conversation.kernel is None or turns is None:
            return text_result(LEFT, failed=True)
        if (off := site_policy().why_off("pair")) is not None:
            return text_result(off, failed=True)
        if name not in kernel_tools():  # the program's plug-ins may differ from the kernel's
            return text_result(f"This kernel has no tool {name!r}.", failed=True)
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
                _show_end(conversation, turn_id, call_id, text_result(CANCELLED, failed=True))
                raise
            if result["isError"] and not conversation.channels.is_active(turn_id):
                result = text_result(STOPPED, failed=True)
            _show_end(conversation, turn_id, call_id, result)
            return result
        finally:
            turns.leave(None if self.conversation is None else self._owner.idle_seconds)


def _kind(name: str) -> str:
    """The kind of the tool *name*, in the terms that agents use."""
    if kernel_tools()[name]["annotations"]["readOnlyHint"]:
        return "read"
    return "execute" if name.startswith("run_") else "edit"


def _show_end(conversation: PairedConversation, turn_id: str, call_id: str, result: Any) -> None:
    if not conversation.closed:
        conversation.events.actions(ended_call(conversation.chat.state, turn_id, call_id, result, now_ms()))


class KernelPairing:
    """The pairing of one host. Everything here runs on the host's thread."""

    def __init__(self, host: Host) -> None:
        self.idle_seconds = IDLE_SECONDS
        self.progress_seconds = PROGRESS_SECONDS
        self._host = host
        self._server: SocketServer | None = None
        self._folder: Path | None = None
        self._clients: dict[PairedClient, PairedConversation] = {}
        self._starting = asyncio.Lock()

    @property
    def on(self) -> bool:
        return self._server is not None

    @property
    def connected(self) -> tuple[PairedConversation, ...]:
        """The conversations of the connected programs, in the order in which they connected."""
        return tuple(self._clients.values())

    @property
    def is_kernel_busy(self) -> bool:
        return self._host.environment.job_queue.is_kernel_busy

    async def start(self, origin: ActionOrigin | None = None) -> None:
        """Let programs connect; no effect if they already may."""
        async with self._starting:
            if self._server is not None:
                self._tell(origin)
                return
            site_policy().demand("pair")
            if self._host.environment.code_runner() is None:
                raise NotOffered("There is no IPython kernel here.", hint="Pairing works in IPython and in notebooks.")
            server = await SocketServer.started(lambda: PairedServer(PairedClient(self)))
            try:
                self._folder = register(new_id(), *server.address)
            except OSError as error:
                server.close()
                message = f"The kernel cannot be paired: its file cannot be written ({error})."
                raise NotOffered(message, hint="Set AGENTNB_DATA_DIR to a folder that you can write.") from None
            self._server = server
            self._tell(origin)

    def stop(self, reason: str = UNPAIRED, origin: ActionOrigin | None = None) -> None:
        """End the pairing and all its connections; no effect if there is none."""
        server, self._server = self._server, None
        folder, self._folder = self._folder, None
        if folder is not None:
            unregister(folder)
        for client in [*self._clients]:
            client.end(reason)
        if server is not None:
            server.close(LINGER_SECONDS)
        self._tell(origin)

    def joined(self, client: PairedClient, spec: AgentSpec) -> PairedConversation:
        """*client* has identified itself as *spec*: returns its earlier conversation if that is free, or a new one."""
        taken = {each.tab_id for each in self._clients.values()}
        same = [
            each
            for each in self._host.conversations.values()
            if isinstance(each, PairedConversation) and each.spec.name == spec.name and each.closing is None
        ]
        free = [each for each in same if each.tab_id not in taken]
        conversation = free[0] if free else self._opened(spec, len(same) + 1)
        self._clients[client] = conversation
        self._tell()
        return conversation

    def left(self, client: PairedClient) -> None:
        if self._clients.pop(client, None) is not None:
            self._tell()

    def _tell(self, origin: ActionOrigin | None = None) -> None:
        """Show the state of the pairing in the host's settings."""
        values: dict[str, Any] = {PAIRED: [each.session.uri for each in self.connected]}
        if self.on or site_policy().why_off("pair") is None:
            values[PAIRING] = self.on
        self._host.root.accept(RootConfigChanged(config=values), origin)

    async def describe(self) -> dict[str, Any]:
        """Returns the description of this kernel that a program gets before it chooses it."""
        return {
            "notebook": await self._notebook(),
            "folder": str(Path.cwd()),
            "busy": self.is_kernel_busy,
            "connected": [each.channels.title for each in self.connected],
        }

    def _opened(self, spec: AgentSpec, number: int) -> PairedConversation:
        options = SessionOptions(spec=spec, cwd=Path.cwd(), kernel_tools=True)
        title = spec.title if number == 1 else f"{spec.title} {number}"
        hint = "Type in the terminal; the calls are shown here."
        read_only = SessionError(f"{spec.title} is used in its terminal.", hint=hint)
        return open_for(PairedConversation, self._host, options, read_only, title=title)

    async def _notebook(self) -> str:
        runner = self._host.environment.code_runner()
        if runner is None:
            return log_place()
        try:
            read = asyncio.to_thread(runner.notebook, outputs=False)
            return (await asyncio.wait_for(read, _NOTEBOOK_SECONDS)).name
        except (AgentnbError, OSError, asyncio.TimeoutError):
            return log_place()
