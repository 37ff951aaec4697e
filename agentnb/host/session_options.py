"""The options that a session is started with, and what the site allows of them."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from agentnb.agent.catalog import AgentSpec
from agentnb.agent.catalog import why_not as why_not_agent
from agentnb.agent.confinement import Confine, Network, narrower, required_network
from agentnb.agent.mcp import McpServer, mcp_servers, together
from agentnb.errors import PolicyError, UsageError
from agentnb.ids import new_id
from agentnb.policy.keys import Mode
from agentnb.policy.store import PolicyFiles
from agentnb.site_policy import SET_BY, site_policy
from agentnb.state.session_state import option_choices, option_value

if TYPE_CHECKING:
    from agentnb.configuration.sources import Sources
    from agentnb.host.environment import Environment
    from agentnb.state import XConfigOptionsChanged
    from agentnb.state.wire import JsonObject


@functools.cache
def _files() -> PolicyFiles:
    return PolicyFiles()


def held(configuration: Configuration, sources: Sources) -> Configuration:
    """*configuration*, limited to what the site's policy allows; what is removed is in its ``notes``."""
    judged = [(server, why_not_server(server)) for server in configuration.components]
    network = narrower(configuration.network, _required(configuration))
    closed = _why_no_kernel(sources) if configuration.kernel else None
    kept = replace(
        configuration,
        components=tuple(server for server, why in judged if why is None),
        network=network,
        is_unasked=configuration.is_unasked and network == configuration.network,
        kernel="" if closed else configuration.kernel,
        notes=tuple(why for why in (*(why for _, why in judged), closed) if why is not None),
    )
    return configuration if kept == configuration else kept


def demand(configuration: Configuration, sources: Sources) -> None:
    """Raise if the site's policy does not allow such an agent."""
    if (problem := site_policy().problem or _files().site.problem or sources.site_problem) is not None:
        raise PolicyError(f"No agent can start. {problem}")
    refused = [why_not_agent(configuration.spec), *map(_why_not_component, configuration.chain)]
    refused += map(why_not_server, configuration.components)
    refused += [_why_no_kernel(sources) if configuration.kernel else None, _why_too_free(configuration)]
    if (why := next(filter(None, refused), None)) is not None:
        raise PolicyError(why)


def why_not_server(server: McpServer) -> str | None:
    """Returns why the site does not allow an MCP server, judged by its command line or address, not its name."""
    line = server.url or shlex.join((server.command, *server.args))
    return site_policy().why_not("mcp_servers", server.name, line, allowed_as=(line,))


def why_not_model(agent: str, model: str) -> str | None:
    return site_policy().why_not("models", model, f"{agent}/{model}")


def without_refused_models(agent: str, action: XConfigOptionsChanged) -> XConfigOptionsChanged:
    """*action* without the models that the site does not allow, except one that is chosen."""
    if not site_policy().files:
        return action
    options = tuple(
        _without_refused(agent, each) if "model" in (each.get("category"), each.get("id")) else each
        for each in action.config_options
    )
    return replace(action, config_options=options)


def _without_refused(agent: str, option: JsonObject) -> JsonObject:
    chosen = option_value(option)

    def left(options: Any) -> Any:
        if not isinstance(options, (list, tuple)):
            return options
        kept = []
        for each in options:
            if isinstance(each, dict) and "value" in each:
                value = each["value"]
                kept += [each] if value == chosen or why_not_model(agent, str(value)) is None else []
            elif isinstance(each, dict):
                inner = left(each.get("options"))
                kept += [{**each, "options": inner}] if inner else []
        return kept

    return {**option, "options": left(option.get("options"))}


def allowed_model(agent: str, option: JsonObject) -> str | None:
    """The first model that *option* offers and the site allows; None if there is none."""
    values = (each["value"] for each in option_choices(option.get("options")))
    return next((each for each in values if isinstance(each, str) and why_not_model(agent, each) is None), None)


def _why_not_component(component: Any) -> str | None:
    if isinstance(component, str):
        return site_policy().why_not("components", component)
    if isinstance(component, (list, tuple)):
        return site_policy().why_not("components", shlex.join(map(str, component)))
    kind = component if isinstance(component, type) else type(component)
    return site_policy().why_not("components", f"{kind.__module__}.{kind.__qualname__}")


def _required(configuration: Configuration) -> Network | None:
    return required_network(configuration.spec.name, _files().site.confine)


def _why_too_free(configuration: Configuration) -> str | None:
    """Returns why an agent cannot continue that is less confined than the site's policy now requires."""
    left = narrower(configuration.network, _required(configuration))
    if _comparable(left) == _comparable(configuration.network):
        return None
    title = configuration.spec.title
    return f"{title} must be confined more than it is in this conversation: {SET_BY}. Start a new conversation."


def _comparable(network: Network | None) -> object:
    return frozenset(network) if isinstance(network, tuple) else network


def _why_no_kernel(sources: Sources) -> str | None:
    setting = sources["kernel_tools"]
    if not setting.is_locked or setting.value:
        return None
    return f"Agents have no access to this kernel: {SET_BY} ({setting.where}, line {setting.layers[0].line})."


SHARED = "shared"
"""The value that represents the kernel if sessions with access to it can share a process."""


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
    def key(self) -> str:
        """A key that is equal only for equal configurations; it holds secrets and stays in memory."""
        folders = [str(folder) for folder in (self.cwd, *self.directories)]
        own = [sorted(self.env.items()), self.components, folders, self.kernel, self.network, self.apart]
        return repr([self.spec, *own, [*map(_component_key, self.chain)]])

    @property
    def confine(self) -> Confine | None:
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
        """The configuration without its kernel tools, so the same whatever its agent may do with the kernel."""
        return replace(self, kernel="", is_kernel_closed=False)

    @property
    def bare(self) -> Configuration:
        """The configuration without components and additional folders."""
        return Configuration(spec=self.spec, cwd=self.cwd, env=self.env, network=self.network)


def _check_name(folder: Path) -> None:
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        message = f"The name of the folder {str(folder)!r} is not UTF-8: no message to an agent can contain it."
        raise UsageError(message, hint="Rename the folder, or work in another one.") from None


def _component_key(component: Any) -> str:
    """A key that differs between components: their text, or the identity of an object."""
    if isinstance(component, (list, tuple)):
        return shlex.join(map(str, component))
    return component if isinstance(component, str) else f"{type(component).__name__} {id(component)}"


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a new session, the same from Python, a magic, the settings and the page."""

    spec: AgentSpec
    cwd: Path
    env: dict[str, str] = {}
    mcp_servers: tuple[McpServer, ...] = ()
    directories: tuple[Path, ...] = ()
    kernel_tools: bool | None = None  # True: the agent may use the kernel from the start; None: it never may
    kernel_access: Literal["run", "off"] | None = None
    chain: tuple[Any, ...] = ()
    mode: Mode = "ask"
    title: str | None = None
    network: Network | None = None
    is_unasked: bool = False
    verify: bool = False
    budget: str = ""
    model: str = ""

    def configuration(self, environment: Environment) -> Configuration:
        """Returns the configuration to start the agent with, as far as the site's policy allows it."""
        for folder in (self.cwd, *self.directories):
            _check_name(folder)
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
