"""The page's request about skills of packages: its user trusts them, refuses them, or trusts them no more.

Only a page of this kernel can ask for it: programs that are connected from elsewhere are shown what is offered, and
have no request for it (`agentnb.ahp.commands.PAGE_REQUESTS`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.comm import settings_messages as sm
from agentnb.host.agents.customizations import decide

if TYPE_CHECKING:
    from agentnb.host.host import Host


class SkillRequests:
    """Answers it, on the host's thread.

    Args:
        host: Whose conversations show what their agents are given.
    """

    def __init__(self, host: Host) -> None:
        self._host = host

    async def change(self, client_id: str, raw: bytes) -> dict[str, Any]:  # noqa: ARG002 - same for every client
        """The request ``changeSkillTrust``."""
        params = msgspec.json.decode(raw, type=sm.ChangeSkillTrustParams)
        try:
            await asyncio.to_thread(decide, params.action, params.package, shown=params.digest)
        finally:  # what was shown may be old: then the user sees what the skills say now
            for each in self._host.conversations.values():
                each.show_customizations_again()
        return {}
