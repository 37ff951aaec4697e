"""An answer of eliza in the making: what a command speaks, thinks and acts through."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentnb.plugins.acp_agent.reply import AcpReply
from agentnb.plugins.eliza.settings import NATURAL_PAUSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentnb.plugins.acp_agent.updates import ChunkKind
    from agentnb.plugins.eliza.attachment import Attachment
    from agentnb.plugins.eliza.session import ElizaSession


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
