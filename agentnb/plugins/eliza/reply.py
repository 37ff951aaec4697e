"""An answer of eliza in the making: what a command speaks, thinks and acts through."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentnb.plugins.acp_agent.reply import NO_ANSWER, Tool, Trouble, shown_text
from agentnb.plugins.acp_agent.reply import Reply as AcpReply
from agentnb.plugins.eliza.settings import NATURAL_PAUSE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agentnb.plugins.eliza.attachment import Attachment
    from agentnb.plugins.eliza.session import Session

__all__ = ["NO_ANSWER", "Reply", "Tool", "Trouble", "shown_text"]


class Reply(AcpReply, kw_only=True):
    """One answer in the making."""

    session: Session
    attachments: Sequence[Attachment] = ()

    async def say(self, text: str) -> None:
        """Stream a text as the answer, cut and paced as the session is set."""
        async for piece in self._pieces(text):
            await self.send_text(piece)

    async def think(self, text: str) -> None:
        """Stream a text as reasoning, cut and paced as the session is set."""
        async for piece in self._pieces(text):
            await self.send_text(piece, "agent_thought_chunk")

    async def _pieces(self, text: str) -> AsyncIterator[str]:
        natural = self.session.settings["pace"] == "natural"
        for piece in self.session.settings.cut(text):
            if natural:
                await asyncio.sleep(NATURAL_PAUSE)
            yield piece
