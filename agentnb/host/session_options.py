"""The options of a new session, and the configuration of its agent's process."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentnb.agent.catalog import AgentSpec
from agentnb.agent.confinement import Confine, Network
from agentnb.agent.mcp import McpServer, mcp_servers, together
from agentnb.host.site_checks import held
from agentnb.ids import new_id
from agentnb.policy.freedom import Mode

if TYPE_CHECKING:
    from agentnb.host.environment import Environment

SHARED = "shared"
"""What stands for the kernel where sessions with access to it can share a process."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, its components, its folders and its environment."""

    spec: AgentSpec
    cwd: Path
    env: dict[str, str] = msgspec.field(default_factory=dict)
    components: tuple[McpServer, ...] = ()
    directories: tuple[Path, ...] = ()
    kernel: str = ""
    is_kernel_closed: bool = False
    chain: tuple[Any, ...] = ()
    network: Network | None = None
    apart: str = ""
    is_unasked: bool = False
    verify: bool = False
    notes: tuple[str, ...] = ()
    budget: str = ""
    model: str = ""

    @property
    def key(self) -> bytes:
        """Equal for equal configurations, and for no others; it holds secrets and stays in memory."""
        folders = [str(folder) for folder in (self.cwd, *self.directories)]
        own = [sorted(self.env.items()), self.components, folders, self.kernel, self.network, self.apart]
        return msgspec.json.encode([self.spec, *own, [*map(_component_key, self.chain)]])

    @property
    def confine(self) -> Confine | None:
        """Returns how the agent is confined; None where it is not."""
        if self.network is None:
            return None
        return Confine(
            network=self.network,
            directories=tuple(str(folder) for folder in self.directories),
            sockets=bool(self.kernel or self.chain or self.apart),
            started=tuple(each.words(self.cwd) for each in self.components if each.transport == "stdio"),
        )

    @property
    def without_kernel(self) -> Configuration:
        """The same whatever its agent may do with the kernel."""
        return msgspec.structs.replace(self, kernel="", is_kernel_closed=False)

    @property
    def bare(self) -> Configuration:
        """The same without components and further folders."""
        return Configuration(spec=self.spec, cwd=self.cwd, env=self.env, network=self.network)


def _component_key(component: Any) -> str:
    """A key that differs between components: a text, or the identity of an object."""
    if isinstance(component, (list, tuple)):
        return shlex.join(map(str, component))
    return component if isinstance(component, str) else f"{type(component).__name__} {id(component)}"


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a new session, the same from Python, a magic, the settings and the page.

    Attributes:
        kernel_tools: Whether the agent may use the kernel from the start; None where it never may.
    """

    spec: AgentSpec
    cwd: Path
    env: dict[str, str] = {}
    mcp_servers: tuple[McpServer, ...] = ()
    directories: tuple[Path, ...] = ()
    kernel_tools: bool | None = None
    kernel_access: Literal["run"] | None = None
    chain: tuple[Any, ...] = ()
    mode: Mode = "ask"
    title: str | None = None
    network: Network | None = None
    is_unasked: bool = False
    verify: bool = False
    budget: str = ""
    model: str = ""

    def configuration(self, environment: Environment) -> Configuration:
        """Returns what the agent is started with, as far as the site's policy allows it."""
        configuration = Configuration(
            spec=self.spec,
            cwd=self.cwd,
            env={**self.env, **environment.cassette.apart()},
            components=together(mcp_servers(self.spec.mcp_servers), self.mcp_servers),
            directories=self.directories,
            kernel=self._kernel(environment),
            is_kernel_closed=not self.kernel_tools,
            chain=(*self.chain, *self.spec.components),
            network=self.network,
            is_unasked=self.is_unasked,
            verify=self.verify,
            budget=self.budget,
            model=self.model,
        )
        return held(configuration, environment.sources())

    def _kernel(self, environment: Environment) -> str:
        """The id of its kernel tools; an agent has them while the kernel is closed to it, so that it can be opened."""
        is_recorded = environment.cassette.stands_in
        can_be_opened = environment.shell is not None and self.spec.takes_mcp and not is_recorded
        if not self.kernel_tools and (self.kernel_tools is None or not can_be_opened):
            return ""
        return SHARED if self.spec.mcp_per_session and not is_recorded else new_id()
