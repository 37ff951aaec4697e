"""Checks that the agents, components, folders and files that settings name exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError, UsageError
from agentnb.plugin_registry import plugins

if TYPE_CHECKING:
    from agentnb.configuration.sources import Sources
    from agentnb.ports import Launcher

_NAMING = ("agent", "warm", "components", "cwd", "mcp_servers")


def missing(name: str, value: Any) -> AgentnbError | None:
    """Returns the error if the *value* of a setting names something that does not exist; else None."""
    try:
        if name in ("agent", "warm"):
            from agentnb.agent.catalog import find  # imported here: most kernels' settings name no agent

            for each in [value] * bool(value) if isinstance(value, str) else value:
                find(each)
        elif name == "components":
            check_components(value, are_installed=True)
        elif name == "cwd" and value and not Path(value).expanduser().is_dir():
            raise UsageError(f"{value!r} is not a folder.", hint="Create it, or choose another one.")
        elif name == "mcp_servers" and isinstance(value, str) and value and not Path(value).expanduser().is_file():
            raise UsageError(f"{value!r} is not a file.", hint="Specify a file with MCP servers, or list the servers.")
    except AgentnbError as error:
        return error
    return None


def missing_things(sources: Sources) -> list[str]:
    """Returns a sentence for each setting that names something that does not exist, with the place that sets it."""
    settings = (sources.values[name] for name in _NAMING)
    errors = [(each, missing(each.setting.name, each.value)) for each in settings if each.source != "default"]
    return [f"{each.origin}: {error}" for each, error in errors if error is not None]


def check_components(components: Any, *, are_installed: bool) -> None:
    """Check that *components* are valid and, if *are_installed*, that their programs are installed."""
    if not isinstance(components, (list, tuple)) or components:
        demand_launcher().check(components, are_installed=are_installed)


def demand_launcher() -> Launcher:
    """Returns the plug-in that starts agents behind components; raises if there is none."""
    launcher: Launcher | None = plugins().first("launchers")
    if launcher is not None:
        return launcher
    message = "No plug-in that starts agents behind components is loaded (`agentnb plugins` says why)."
    raise UsageError(message, hint="Turn on the plug-in `chain`, or use no components.")
