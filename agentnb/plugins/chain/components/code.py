"""`code`: the tool that answers questions about the notebook's and the workspace's code, without the kernel tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.kernel.tools import checked
from agentnb.plugins.chain.components.component import Component
from agentnb.plugins.chain.components.skills import kernel_tool
from agentnb.plugins.knowledge.code.language_server import OFF
from agentnb.plugins.knowledge.code_tool import CodeTool
from agentnb.policy.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.kernel.code_runner import CodeRunner

NAME = "look_up_code"


class Code(Component):
    """Offers one tool, ``look_up_code``; nothing is run or changed, and no object of the user's is asked.

    Args:
        code_runner: Gives the kernel and its notebook; None where there is none.
        language_server: Gives the setting of that name as it is now.
    """

    name = "code"
    about = (
        "A tool that answers questions about the notebook's and the workspace's code: definitions, uses, signatures."
    )

    def __init__(
        self,
        code_runner: Callable[[], CodeRunner | None] = lambda: None,
        language_server: Callable[[], str] = lambda: OFF,
    ) -> None:
        self._code_runner = code_runner
        self._language_server = language_server
        self._workspace = Path.cwd()
        self._tool: CodeTool | None = None
        self.tools = (kernel_tool(NAME, self.look_up_code),)

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        """See :meth:`Component.on_opened`."""
        del session_id
        if isinstance(cwd := params.get("cwd"), str) and Path(cwd) != self._workspace:
            self._workspace, self._tool = Path(cwd), None

    async def look_up_code(self, **given: Any) -> str:
        """What the tool returns; see :meth:`agentnb.plugins.knowledge.code_tool.CodeTool.answer`."""
        return await asyncio.to_thread(self._answer, checked(NAME, given))

    def _answer(self, given: dict[str, Any]) -> str:
        if "file" in given:  # nobody is asked here, so only the workspace's files can be named
            given = {**given, "file": str(Workspace(self._workspace).resolve(given["file"]))}
        self._tool = self._tool or CodeTool(self._code_runner(), self._workspace, self._language_server)
        return self._tool.answer(given, self._tool.notebook(given.get("notebook")))
