"""A component that gives the agent one kernel tool of a plug-in, without access to the kernel."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.host.agents.plugin_tools import allow_reading, tool_session
from agentnb.host.environment import Environment
from agentnb.kernel.tools import call_offer, checked
from agentnb.plugins.chain.components.component import Component, ComponentTool
from agentnb.policy.workspace import WorkspaceBoundary

if TYPE_CHECKING:
    from agentnb.ports import Tool as PluginTool
    from agentnb.ports import ToolSession


class ToolComponent(Component):
    """Offers the tool *tool* of *plugin*; nothing is run or changed."""

    def __init__(self, name: str, about: str, plugin: str, tool: PluginTool, session: ToolSession | None) -> None:
        self.name: str = name
        self.about: str = about
        self._plugin = plugin
        self._tool = tool
        self._session = session or tool_session(allow_reading, Environment(), session="", folder=str(Path.cwd()))
        self.tools: tuple[ComponentTool, ...] = (
            ComponentTool(
                name=tool.name,
                description=tool.description,
                run=self._run,
                parameters=tool.parameters["properties"],
                required=tuple(tool.parameters["required"]),
                read_only=tool.reads_only,
            ),
        )

    async def on_opened(self, session_id: str, params: dict[str, Any]) -> None:
        """See :meth:`Component.on_opened`."""
        del session_id
        if isinstance(cwd := params.get("cwd"), str) and cwd != self._session.folder:
            self._session = dataclasses.replace(self._session, folder=cwd, memory={})

    async def _run(self, **options: Any) -> dict[str, Any]:
        arguments = checked(self._tool.name, options)
        if self._tool.name == "look_up_code" and "file" in arguments:  # nobody is asked, so only the workspace's files
            arguments["file"] = str(WorkspaceBoundary(Path(self._session.folder)).resolve(arguments["file"]))
        return await call_offer(self._plugin, self._tool, self._session, arguments)
