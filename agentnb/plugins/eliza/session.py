"""One conversation with eliza, with its settings and its listener; and an answer in the making."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.plugins.acp_agent.reply import AcpReply
from agentnb.plugins.acp_agent.session import AcpSession
from agentnb.plugins.eliza.doctor import Doctor
from agentnb.plugins.eliza.settings import NATURAL_PAUSE, ElizaSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from agentnb.plugins.acp_agent.updates import ChunkKind
    from agentnb.plugins.eliza.attachment import Attachment


class ElizaSession(AcpSession):
    """One conversation with eliza."""

    settings: ElizaSettings = msgspec.field(default_factory=ElizaSettings)
    doctor: Doctor = msgspec.field(default_factory=Doctor)

    def record(self) -> dict[str, Any]:
        """Everything that outlives the process, as JSON."""
        options = dict(self.settings.values)
        own = {"mode": self.settings.mode_id, "options": options, "doctor": self.doctor.state()}
        return {**super().record(), **own}

    @classmethod
    def restore(cls, record: dict[str, Any], **own: Any) -> Self:
        """The session that gave *record*."""
        settings = ElizaSettings(record["mode"], dict(record["options"]))
        return super().restore(record, settings=settings, doctor=Doctor.restore(None, record["doctor"]), **own)


class Reply(AcpReply, kw_only=True):
    """One answer in the making."""

    session: ElizaSession
    attachments: Sequence[Attachment] = ()

    async def say(self, text: str, kind: ChunkKind = "agent_message_chunk") -> None:
        """Stream a text, cut and paced as the session is set."""
        natural = self.session.settings["pace"] == "natural"
        for part in self.session.settings.cut(text):
            if natural:
                await asyncio.sleep(NATURAL_PAUSE)
            await self.send_text(part, kind)

    async def think(self, text: str) -> None:
        """Stream a text as reasoning."""
        await self.say(text, "agent_thought_chunk")
