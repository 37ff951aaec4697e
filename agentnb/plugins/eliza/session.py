"""One conversation with eliza, with its settings and its listener; and an answer in the making."""

from __future__ import annotations

import asyncio
import base64
import binascii
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec

from agentnb.plugins.acp_agent.content import EmbeddedResource, ImageContent, ResourceLink, TextContent
from agentnb.plugins.acp_agent.mcp import McpTrouble, reached
from agentnb.plugins.acp_agent.reply import AcpReply, Trouble
from agentnb.plugins.acp_agent.session import AcpSession
from agentnb.plugins.eliza.doctor import Doctor
from agentnb.plugins.eliza.settings import NATURAL_PAUSE, ElizaSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from typing_extensions import Self

    from agentnb.plugins.acp_agent.client_requests import McpServer
    from agentnb.plugins.acp_agent.content import AudioContent, ContentBlock, ResourceContents
    from agentnb.plugins.acp_agent.mcp import McpClient
    from agentnb.plugins.acp_agent.updates import ChunkKind

EXCERPT_LINES = 6
EXCERPT_WIDTH = 160


class Attachment(msgspec.Struct, frozen=True):
    name: str
    kind: str
    size: int | None
    text: str | None = None

    @property
    def detail(self) -> str:
        """Returns kind and size, as in ``text/csv, 312 B``."""
        return f"{self.kind}, {'size unknown' if self.size is None else _human(self.size)}"

    @property
    def excerpt(self) -> str:
        lines = (self.text or "").splitlines()
        kept = [line if len(line) <= EXCERPT_WIDTH else line[: EXCERPT_WIDTH - 1] + "…" for line in lines]
        more = [f"… {len(lines) - EXCERPT_LINES} more lines"] if len(lines) > EXCERPT_LINES else []
        return "\n".join([*kept[:EXCERPT_LINES], *more])


def attachments(prompt: Sequence[ContentBlock]) -> list[Attachment]:
    """Returns everything in a prompt except its text, in order."""
    return [_attachment(block) for block in prompt if not isinstance(block, TextContent)]


def _attachment(block: ImageContent | AudioContent | ResourceLink | EmbeddedResource) -> Attachment:
    if isinstance(block, ResourceLink):
        return Attachment(block.title or block.name, f"link, {block.mime_type or 'type unknown'}", block.size)
    if isinstance(block, EmbeddedResource):
        return _embedded(block.resource)
    size = _decoded_size(block.data)
    if isinstance(block, ImageContent):
        return Attachment(_name_of(block.uri) if block.uri else "image", block.mime_type, size)
    return Attachment("audio", block.mime_type, size)


def _embedded(resource: ResourceContents) -> Attachment:
    name = _name_of(resource.uri)
    if resource.text is not None:
        size = len(resource.text.encode("utf-8", "replace"))
        return Attachment(name, resource.mime_type or "text", size, resource.text)
    return Attachment(name, resource.mime_type or "bytes", _decoded_size(resource.blob or ""))


def _name_of(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.fragment or parts.path.rstrip("/").rpartition("/")[2] or parts.netloc) or uri


def _decoded_size(data: str) -> int | None:
    try:
        return len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return None


def _human(size: int) -> str:
    for unit, scale in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} B"


class ElizaSession(AcpSession):
    settings: ElizaSettings = msgspec.field(default_factory=ElizaSettings)
    doctor: Doctor = msgspec.field(default_factory=Doctor)

    def record(self) -> dict[str, Any]:
        options = dict(self.settings.values)
        own = {"mode": self.settings.mode_id, "options": options, "doctor": self.doctor.state()}
        return {**super().record(), **own}

    @classmethod
    def restore(cls, record: dict[str, Any], **own: Any) -> Self:
        settings = ElizaSettings(record["mode"], dict(record["options"]))
        return super().restore(record, settings=settings, doctor=Doctor.restore(record["doctor"]), **own)


class Reply(AcpReply, kw_only=True):
    session: ElizaSession
    attachments: Sequence[Attachment] = ()

    async def say(self, text: str, kind: ChunkKind = "agent_message_chunk") -> None:
        """Stream a text, cut and paced as set in the session."""
        natural = self.session.settings["pace"] == "natural"
        for part in self.session.settings.cut(text):
            if natural:
                await asyncio.sleep(NATURAL_PAUSE)
            await self.send_text(part, kind)

    @asynccontextmanager
    async def connected(self, server: McpServer) -> AsyncIterator[McpClient]:
        """Connect to an MCP server in the block; raises Trouble if the server fails there."""
        try:
            async with reached(server, self.session.cwd, self.client) as client:
                yield client
        except McpTrouble as trouble:
            raise Trouble(f"The MCP server `{server.name}` failed: {trouble}.") from None

    async def think(self, text: str) -> None:
        await self.say(text, "agent_thought_chunk")
