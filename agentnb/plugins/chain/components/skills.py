"""`skills`: the tool that lists and reads skills of packages that the user trusts, without the kernel tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agentnb.kernel.tools import TOOLS, checked
from agentnb.plugins.chain.components.component import Component, Tool
from agentnb.plugins.knowledge.skill_tool import skill_answer
from agentnb.plugins.knowledge.skills.library import SkillLibrary, shared_scan
from agentnb.policy.store import PolicyFiles

NAME = "read_skill"


def kernel_tool(name: str, run: Any) -> Tool:
    """The kernel tool *name* as a component's, with the same words."""
    schema = TOOLS[name]["inputSchema"]
    return Tool(
        name=name,
        description=TOOLS[name]["description"],
        run=run,
        parameters=schema["properties"],
        required=tuple(schema["required"]),
        read_only=TOOLS[name]["annotations"]["readOnlyHint"],
    )


class Skills(Component):
    """Offers one tool, ``read_skill``. Only skills that the user trusts are listed and read; nothing of them is run."""

    name = "skills"
    about = "A tool that lists and reads the skills of installed packages that you trust."

    def __init__(self) -> None:
        self._workspace: Path | None = None
        self.tools = (kernel_tool(NAME, self.read_skill),)

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        """See :meth:`Component.on_opened`."""
        del session_id
        if isinstance(cwd := params.get("cwd"), str):
            self._workspace = Path(cwd)

    async def read_skill(self, **given: Any) -> str:
        """What the tool returns; see :func:`agentnb.plugins.knowledge.skill_tool.skill_answer`."""
        library = SkillLibrary(self._workspace, scan=shared_scan(), trusts_workspace=PolicyFiles().trusts)
        return await asyncio.to_thread(skill_answer, library, checked(NAME, given))
