"""The plug-in: confines agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentnb.ports import Plugin

if TYPE_CHECKING:
    from agentnb.agent.confinement import Confine
    from agentnb.ports import AgentStart, Confined


class Sandbox:
    """Confines with Landlock, bubblewrap or ``sandbox-exec`` (:class:`agentnb.ports.Confiner`)."""

    name = "sandbox"

    def way(self) -> tuple[str | None, str]:
        from agentnb.plugins.sandbox.confinement import way_here

        return way_here()

    def unchecked(self) -> str:
        from agentnb.plugins.sandbox.confinement import unchecked_here, way_here

        return unchecked_here(way_here()[0])

    async def confine(self, start: AgentStart, asked: Confine) -> Confined:
        from agentnb.plugins.sandbox.confinement import confine

        return await confine(start, asked)


PLUGIN = Plugin(name="sandbox", summary="Confines agents to the files and network they need.", confiners=(Sandbox(),))
