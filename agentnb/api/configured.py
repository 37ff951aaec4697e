"""Reads and checks the arguments that many functions share: agent, command, env, cwd, MCP servers, folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentnb.agent import mcp
from agentnb.agent.catalog import TOUR, custom, find
from agentnb.agent.confinement import ConfinementChoice
from agentnb.agent.elsewhere import checked_hosts
from agentnb.agent.process import startable
from agentnb.api.arguments import check_environment, check_text, folders
from agentnb.budget import read_budget
from agentnb.configuration.named_things import check_components
from agentnb.errors import UnknownAgent, UsageError
from agentnb.host import current_host
from agentnb.host.environment import current_environment
from agentnb.host.session_options import SessionOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentnb.agent.catalog import AgentSpec
    from agentnb.agent.confinement import Network
    from agentnb.host import Host
    from agentnb.host.session_options import Configuration
    from agentnb.policy.keys import Mode

DEFAULT_AGENT = TOUR
"""The agent of a script that names none; the same on every machine."""


def default_agent() -> str:
    """Returns the agent for a magic that names none: the page's default agent, else the built-in tour agent.

    With a cassette it is the tour agent: a recording must not depend on the agents installed here or used before.
    """
    host = current_host()
    if host.environment.cassette.stands_in:
        return TOUR
    return host.loop.submit(host.default_agent.find()).result() or TOUR


def configured(
    agent: str | None,
    command: Sequence[str] | None,
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    *,
    mcp_servers: Any = (),
    components: Any = None,
    directories: Sequence[str | os.PathLike[str]] = (),
    kernel_tools: bool | None = None,
    mode: Mode = "ask",
    title: str | None = None,
    confine: bool | None = None,
    network: Literal["all", "none"] | Sequence[str] = "all",
    verify: bool = False,
    budget: str | None = None,
    model: str | None = None,
) -> SessionOptions:
    """Checks the arguments of :func:`agentnb.start` and returns them as options.

    If *mcp_servers* or *components* is None, the settings decide.
    """
    variables = check_environment(env)
    if agent is not None:
        check_text("agent", agent, example='"claude"')
    spec = _spec(agent or DEFAULT_AGENT) if command is None else custom(command, name=agent)
    folder = folder_of(cwd, "cwd")
    environment = current_environment()
    variables = {**environment.default_variables(spec.name), **variables}
    servers = environment.default_mcp_servers() if mcp_servers is None else mcp.mcp_servers(mcp_servers)
    more = folders_of(directories)
    chain = environment.default_components() if components is None else components
    check_components(chain, are_installed=False)  # raises an error now, not when the agent starts
    path = {**os.environ, **spec.env, **variables}.get("PATH")
    startable(environment.cassette.standing_in(spec), folder, path)
    if not isinstance(verify, bool):
        raise UsageError(
            f"verify must be True or False, not {verify!r}.", hint="True: each turn ends with a verification."
        )
    read_budget("" if budget is None else budget)
    if model is not None:
        check_text("model", model, example='model="haiku"')
    confinement = _confinement(confine, network, spec, folder)
    return SessionOptions(
        spec=spec,
        cwd=folder,
        env=variables,
        mcp_servers=servers,
        directories=tuple(more),
        kernel_tools=kernel_tools,
        chain=tuple(chain),
        mode=mode,
        title=title,
        network=confinement.network,
        is_unasked=confinement.is_unasked,
        verify=verify,
        budget=budget or "",
        model=model or "",
    )


def _confinement(
    confine: bool | None, network: Literal["all", "none"] | Sequence[str], spec: AgentSpec, cwd: Path
) -> ConfinementChoice:
    """Returns the chosen confinement and its network access; the settings decide if *confine* is None."""
    left: Network = network if network in ("all", "none") else checked_hosts(network)
    if confine is not None and not isinstance(confine, bool):
        raise UsageError(f"confine must be True or False, not {confine!r}.", hint="Leave it out to use the settings.")
    if confine is None:
        return current_environment().default_confinement(spec, cwd)
    return ConfinementChoice(left if confine else None)


def configuration_of(options: SessionOptions) -> Configuration:
    return options.configuration(current_environment())


def _spec(name: str) -> AgentSpec:
    """Returns the agent called *name*: as described by the cassette being replayed, else from the catalogue."""
    recorded = current_environment().cassette.agents()
    try:
        return recorded.get(name) or find(name)
    except UnknownAgent:
        if name not in recorded:
            raise
        return custom([name], name=name)


def check_kernel(host: Host) -> None:
    """Check that agents of *host* can be given access to a kernel."""
    if host.environment.shell is None:
        raise UsageError(
            "Agents cannot be given access to a kernel: no IPython runs here.", hint="Leave kernel_tools out."
        )


def folders_of(directories: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Returns the additional folders to work in, as absolute paths."""
    return [folder_of(directory, "directories") for directory in folders(directories)]


def folder_of(path: str | os.PathLike[str] | None, name: str) -> Path:
    """Returns *path*, the value of the argument *name*, absolute and resolved; the current folder if it is None."""
    try:
        folder = Path(path if path is not None else os.getcwd()).expanduser().resolve()  # noqa: PTH109 - kept as the kernel has it
    except FileNotFoundError:
        raise UsageError(
            "The current folder no longer exists.", hint="Change to another folder, or give cwd=."
        ) from None
    except (TypeError, RuntimeError) as error:
        raise UsageError(f"{name}={path!r} does not name a folder: {error}.", hint="Give a path.") from None
    if not folder.is_dir():
        message = f"{name}={str(path)!r} is not a folder."
        raise UsageError(message, hint="Give the folder in which the agent should work.")
    return folder
