"""Whether the agents, components, folders and files that settings name are there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentnb.errors import AgentnbError, UsageError

if TYPE_CHECKING:
    from agentnb.configuration.sources import Sources

_NAMING = ("agent", "warm", "components", "cwd", "mcp_servers")


def missing(name: str, value: Any) -> AgentnbError | None:
    """The error of what the *value* of a setting names and what is not there; None where all is there."""
    try:
        if name in ("agent", "warm"):
            _find_agents([value] if isinstance(value, str) else value)
        elif name == "components":
            _find_components(value)
        elif name == "cwd" and value and not Path(value).expanduser().is_dir():
            raise UsageError(f"{value!r} is not a folder.", hint="Make it, or choose another one.")
        elif name == "mcp_servers" and isinstance(value, str) and value and not Path(value).expanduser().is_file():
            raise UsageError(f"{value!r} is not a file.", hint="Name a file with MCP servers, or list the servers.")
    except AgentnbError as error:
        return error
    return None


def missing_things(sources: Sources) -> list[str]:
    """A sentence for each setting that names what is not there, with the place that says it."""
    said = (sources.values[name] for name in _NAMING)
    found = [(each, missing(each.setting.name, each.value)) for each in said if each.source != "default"]
    return [f"{each.origin}: {error}" for each, error in found if error is not None]


def _find_agents(names: list[str]) -> None:
    from agentnb.agent.catalog import find  # most kernels name none in their settings

    for each in names:
        find(each)


def _find_components(names: list[str]) -> None:
    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.programs import find_on_path
    from agentnb.plugins.chain.components.given import component
    from agentnb.plugins.chain.components.shipped_components import SHIPPED

    for each in names:
        found = component(each)
        program = found.command[0] if isinstance(found, AgentSpec) else ""
        is_relative = "/" in program and not Path(program).is_absolute()  # to the workspace, which is not known here
        if program and not is_relative and find_on_path(program) is None:
            message = f"There is no component and no program called {program!r}."
            raise UsageError(message, hint=f"Shipped components: {', '.join(SHIPPED)}. Any other is a command.")
