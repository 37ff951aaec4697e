"""`research`: the tool that answers questions about packages from their source, without the kernel tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.errors import NotOffered
from agentnb.kernel.tools import checked
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.skills import kernel_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agentnb.plugins.knowledge.research.findings import Research as Found

NAME = "research"


class Research(Component):
    """Offers one tool, ``research``: another conversation with the same agent reads the source, and nothing else."""

    name = "research"
    about = "A tool that answers questions about installed packages from their source, with file and line."

    def __init__(self, ask: Callable[[str, str, str | None], Awaitable[Found]] | None = None) -> None:
        self._ask = ask
        self.tools = (kernel_tool(NAME, self.research),)

    async def research(self, **given: Any) -> str:
        """What the tool returns: the findings as Markdown."""
        asked = checked(NAME, given)
        if self._ask is None:
            raise NotOffered("Nothing here can ask the agent in another conversation.", hint="Use it in agentnb.")
        found = await self._ask(asked["question"], asked["package"], asked.get("version"))
        return f"{found.package} {found.version}\n\n{found.text}"
