"""What a session's agent is given besides the conversation: skills, components, tools, MCP servers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from agentnb.errors import PluginFailed, UsageError
from agentnb.kernel.tools import kernel_tools
from agentnb.plugin_registry import plugins
from agentnb.state import SessionCustomizationsChanged

if TYPE_CHECKING:
    from agentnb.host.channels import SessionChannels
    from agentnb.host.environment import Environment
    from agentnb.host.session_options import Configuration

KERNEL = "kernel"
_READY = {"kind": "ready"}


class Customizations:
    """Tells the clients of one session what its agent is given. Everything here runs on the host's thread."""

    def __init__(self, channels: SessionChannels, configuration: Configuration, environment: Environment) -> None:
        self._channels = channels
        self._configuration = configuration
        self._environment = environment
        self._telling = asyncio.Lock()

    @property
    def is_possible(self) -> bool:
        """True if the agent can be given anything."""
        configuration = self._configuration
        return bool(configuration.kernel or configuration.chain or configuration.components)

    async def tell(self) -> None:
        """Look what the agent is given now, and tell the clients where that is other than they know."""
        async with self._telling:
            asks = self._channels.kernel_access != "off"
            configuration = self._configuration if asks else self._configuration.without_kernel
            rows = await asyncio.to_thread(customizations, configuration, self._environment, asks=asks)
            if rows != (self._channels.session.state.customizations or ()):
                self._channels.dispatch(SessionCustomizationsChanged(customizations=rows))


def customizations(
    configuration: Configuration, environment: Environment, *, asks: bool = False
) -> tuple[dict[str, Any], ...]:
    """The skills, components, tools and MCP servers of a session, as AHP's ``Customization``.

    It looks at the files of skills: call it on a thread of its own.
    """
    rows: list[dict[str, Any]] = []
    for plugin, customizer in plugins().offers("customizers"):
        with contextlib.suppress(PluginFailed), plugins().guard(plugin.name, "customizers"):  # the others are shown
            rows += customizer.customizations(configuration, environment, asks=asks)
    if configuration.spec.takes_mcp:
        rows += [_server(KERNEL, *kernel_tools())] if configuration.kernel else []
        rows += [_server(server.name) for server in configuration.components]
    return tuple(sorted(rows, key=lambda each: _ORDER.get(each["id"].partition(":")[0], len(_ORDER))))


_ORDER = {"component": 0, "mcp": 1, "package": 2, "offer": 3}


def decide(action: str, package: str, *, shown: str) -> None:
    """Do what the user chose about a package that a plug-in asked about."""
    for plugin, customizer in plugins().offers("customizers"):
        with plugins().guard(plugin.name, "customizers"):
            if customizer.decide(action, package, shown=shown):
                return
    raise UsageError(f"No plug-in has asked about {package!r}.", hint="`agentnb plugins` lists those that work.")


def _server(name: str, *tools: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "type": "mcpServer",
        "id": f"mcp:{name}",
        "uri": f"agentnb-mcp:/{name}",
        "name": name,
        "state": _READY,
    }
    return {**row, "_meta": {"agentnb": {"tools": list(tools)}}} if tools else row
