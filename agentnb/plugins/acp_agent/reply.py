"""A reply in progress, through which an agent sends text, thoughts and tool calls."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.client import AcpClient, ignoring_refusal
from agentnb.plugins.acp_agent.client_requests import ClientCapabilities, StopReason
from agentnb.plugins.acp_agent.content import fields
from agentnb.plugins.acp_agent.session import AcpSession, SessionExchange
from agentnb.plugins.acp_agent.updates import ToolKind, shown_text, text_chunk, update
from agentnb.rpc_message import RpcError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from agentnb.plugins.acp_agent.updates import ChunkKind, ToolCallStatus, Update

NO_ANSWER = "its answer is not what the protocol says"


class Trouble(Exception):
    """A prompt that cannot be carried out; the message is for people, in Markdown."""


class AcpReply(msgspec.Struct, kw_only=True):
    """One answer in the making."""

    client: AcpClient
    session: AcpSession
    exchange: SessionExchange
    capabilities: ClientCapabilities
    stop_reason: StopReason = "end_turn"
    usage: dict[str, int] | None = None
    _tools: int = 0
    _leftovers: set[asyncio.Task[None]] = msgspec.field(default_factory=set)

    async def send_text(self, text: str, kind: ChunkKind = "agent_message_chunk") -> None:
        self.exchange.add_text(kind, text)
        await self.tell(text_chunk(text, kind))

    async def send(self, part: Update) -> None:
        """Send a part of the answer, which is replayed when the session is loaded."""
        self.exchange.add(msgspec.to_builtins(part))
        await self.tell(part)

    async def tell(self, news: Update) -> None:
        """Send news about the session, which is not replayed."""
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
    ) -> AcpToolCall:
        """Announce a pending tool call; its id is `t<turn>-<number>`, followed by the tool's *name* if it has one."""
        self._tools += 1
        tool_id = f"t{len(self.session.exchanges)}-{self._tools}"
        call = AcpToolCall(self, f"{tool_id}-{name}" if name else tool_id, title, kind)
        locations = [fields(path=str(path), line=line)] if path else None
        await self.send(
            update(
                "tool_call",
                tool_call_id=call.tool_id,
                title=title,
                kind=kind,
                status="pending",
                locations=locations,
                raw_input=raw_input,
            )
        )
        return call

    @asynccontextmanager
    async def asking(self, method: str, call: AcpToolCall) -> AsyncIterator[None]:
        """Ask the client for something in the block; a refusal ends the tool call as failed."""
        try:
            yield
        except RpcError as refused:
            reason = _reason(refused)
        except msgspec.ValidationError:
            reason = NO_ANSWER
        else:
            return
        await call.update("failed", content=[shown_text(reason)])
        raise Trouble(f"The client refused `{method}`: {reason}.")

    def path(self, name: str) -> Path:
        """Returns the absolute path of a `name` that the user gave."""
        return self.session.cwd / Path(name).expanduser()

    def leave(self, leftover: Coroutine[Any, Any, object]) -> None:
        """Let a coroutine clean up after a cancelled command, without delaying the answer."""
        task = asyncio.ensure_future(ignoring_refusal(leftover))
        self._leftovers.add(task)
        task.add_done_callback(self._leftovers.discard)


class AcpToolCall(msgspec.Struct, frozen=True):
    """A tool call that has been announced."""

    reply: AcpReply
    tool_id: str
    title: str
    kind: ToolKind

    async def update(
        self,
        status: ToolCallStatus,
        *,
        title: str | None = None,
        content: Any = None,
        kept: Any = None,
        raw_output: object = None,
    ) -> None:
        """Change the status; *kept* replaces *content* when the session is loaded again."""

        def progress(contents: Any) -> Update:
            changed = {"title": title, "status": status, "content": contents}
            return update("tool_call_update", tool_call_id=self.tool_id, **changed, raw_output=raw_output)

        self.reply.exchange.add(msgspec.to_builtins(progress(kept or content)))
        await self.reply.tell(progress(content))

    def described(self) -> dict[str, str]:
        """Returns the tool call as a permission request describes it."""
        return {"toolCallId": self.tool_id, "kind": self.kind, "status": "pending", "title": self.title}


def _reason(refused: RpcError) -> str:
    data = refused.data
    details = (
        next((data[key] for key in ("details", "message") if key in data), None) if isinstance(data, dict) else data
    )
    text = f"{refused}: {details}" if isinstance(details, str) else str(refused)
    return f"{text.rstrip('.')} ({refused.code})"
