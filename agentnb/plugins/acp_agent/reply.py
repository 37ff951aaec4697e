"""An answer in the making: what an agent speaks, thinks and calls tools through."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.client import AskedToolCall, Client
from agentnb.plugins.acp_agent.client_requests import ClientCapabilities, StopReason, Usage
from agentnb.plugins.acp_agent.content import TextContent
from agentnb.plugins.acp_agent.session import Exchange, Session
from agentnb.plugins.acp_agent.updates import Chunk, Location, ShownContent, ToolCallProgress, ToolCallStart, ToolKind
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from agentnb.plugins.acp_agent.content import ContentBlock
    from agentnb.plugins.acp_agent.updates import ChunkKind, News, Part, ToolCallStatus, ToolContent


NO_ANSWER = "its answer is not what the protocol says"


class Trouble(Exception):
    """What was asked for can not be done; the message is for people, in markdown."""


class Reply(msgspec.Struct, kw_only=True):
    """One answer in the making."""

    client: Client
    session: Session
    exchange: Exchange
    capabilities: ClientCapabilities
    stop_reason: StopReason = "end_turn"
    usage: Usage | None = None
    _tools: int = 0
    _leftovers: set[asyncio.Task[None]] = msgspec.field(default_factory=set)

    async def show(self, block: ContentBlock) -> None:
        """Send a whole content block, an image for example, as a part of the answer."""
        await self.send(Chunk(content=block, session_update="agent_message_chunk"))

    async def send_text(self, text: str, kind: ChunkKind = "agent_message_chunk") -> None:
        """Send one chunk of text as it is."""
        self.exchange.add_text(kind, text)
        await self.client.update(self.session.session_id, Chunk(content=TextContent(text=text), session_update=kind))

    async def send(self, part: Part) -> None:
        """Send a part of the answer and write it down."""
        self.exchange.add(msgspec.to_builtins(part))
        await self.client.update(self.session.session_id, part)

    async def tell(self, news: News) -> None:
        """Send news about the session itself: nothing that a replay would repeat."""
        await self.client.update(self.session.session_id, news)

    async def start_tool(
        self,
        title: str,
        kind: ToolKind,
        *,
        raw_input: object = None,
        path: Path | None = None,
        line: int | None = None,
        name: str = "",
    ) -> Tool:
        """Announce a tool call, pending; its id is `t<turn>-<number>`, and behind that the tool's *name*."""
        self._tools += 1
        tool_id = f"t{len(self.session.exchanges)}-{self._tools}"
        tool = Tool(self, f"{tool_id}-{name}" if name else tool_id, title, kind)
        await self.send(
            ToolCallStart(
                tool_call_id=tool.tool_id,
                title=title,
                kind=kind,
                status="pending",
                locations=[Location(path=str(path), line=line)] if path else None,
                raw_input=raw_input,
            )
        )
        return tool

    @asynccontextmanager
    async def asking(self, method: str, tool: Tool) -> AsyncIterator[None]:
        """Ask the client for something inside; a refusal ends the tool call as failed."""
        try:
            yield
        except RpcError as refused:
            said = _reason(refused)
        except msgspec.ValidationError:
            said = NO_ANSWER
        else:
            return
        await tool.update("failed", content=[shown_text(said)])
        raise Trouble(f"The client refused `{method}`: {said}.")

    def path(self, name: str) -> Path:
        """The absolute path that a user's `name` means."""
        return self.session.cwd / Path(name).expanduser()

    def leave(self, leftover: Coroutine[Any, Any, object]) -> None:
        """Let a coroutine tidy up after a command that was cancelled, without holding up the answer."""
        task = asyncio.ensure_future(_ignoring_refusal(leftover))
        self._leftovers.add(task)
        task.add_done_callback(self._leftovers.discard)


class Tool(msgspec.Struct, frozen=True):
    """A tool call that has been announced."""

    reply: Reply
    tool_id: str
    title: str
    kind: ToolKind

    async def update(
        self,
        status: ToolCallStatus,
        *,
        content: list[ToolContent] | None = None,
        kept: list[ToolContent] | None = None,
        raw_output: object = None,
        title: str | None = None,
    ) -> None:
        """Move on to another status."""

        def progress(shown: list[ToolContent] | None) -> ToolCallProgress:
            return ToolCallProgress(
                tool_call_id=self.tool_id,
                title=title,
                status=status,
                content=shown,
                raw_output=raw_output,
            )

        self.reply.exchange.add(msgspec.to_builtins(progress(kept or content)))
        await self.reply.client.update(self.reply.session.session_id, progress(content))

    def described(self) -> AskedToolCall:
        """The tool call as a permission request names it."""
        return AskedToolCall(tool_call_id=self.tool_id, title=self.title, kind=self.kind, status="pending")


def shown_text(text: str) -> ToolContent:
    """Text that a tool call shows."""
    return ShownContent(content=TextContent(text=text))


def _reason(refused: RpcError) -> str:
    data = refused.data
    details = (
        next((data[key] for key in ("details", "message") if key in data), None) if isinstance(data, dict) else data
    )
    said = f"{refused}: {details}" if isinstance(details, str) else str(refused)
    return f"{said.rstrip('.')} ({refused.code})"


async def _ignoring_refusal(leftover: Coroutine[Any, Any, object]) -> None:
    with suppress(RpcError, ConnectionError):
        await leftover
