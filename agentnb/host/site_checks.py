"""The site's policy for agents: what a session may be started with, and which models it may use."""

from __future__ import annotations

import functools
import shlex
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentnb.agent.catalog import why_not as why_not_agent
from agentnb.agent.confinement_choice import narrower, required_network
from agentnb.errors import PolicyError
from agentnb.policy.store import PolicyFiles
from agentnb.site_policy import SET_BY, site_policy
from agentnb.state.session_state import option_choices, option_value

if TYPE_CHECKING:
    from agentnb.agent.confinement import Network
    from agentnb.agent.mcp import McpServer
    from agentnb.configuration.sources import Sources
    from agentnb.host.session_options import Configuration
    from agentnb.state import XConfigOptionsChanged
    from agentnb.state.wire import JsonObject


@functools.cache
def _files() -> PolicyFiles:
    return PolicyFiles()


def held(configuration: Configuration, sources: Sources) -> Configuration:
    """*configuration* as far as the site's policy allows it; what it loses is in its ``notes``."""
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
    """Raise where the site's policy does not allow an agent to work so."""
    if (problem := site_policy().problem or _files().site.problem or sources.site_problem) is not None:
        raise PolicyError(f"No agent can start. {problem}")
    refused = [why_not_agent(configuration.spec), *map(_why_not_component, configuration.chain)]
    refused += map(why_not_server, configuration.components)
    refused += [_why_no_kernel(sources) if configuration.kernel else None, _why_too_free(configuration)]
    if (why := next(filter(None, refused), None)) is not None:
        raise PolicyError(why)


def why_not_server(server: McpServer) -> str | None:
    """Returns why the site does not allow an MCP server; its command line or its address counts, not its name."""
    line = server.url or shlex.join((server.command, *server.args))
    return site_policy().why_not("mcp_servers", server.name, line, allowed_as=(line,))


def why_not_model(agent: str, model: str) -> str | None:
    """Returns why the site does not allow *agent* to use *model*."""
    return site_policy().why_not("models", model, f"{agent}/{model}")


def without_refused_models(agent: str, action: XConfigOptionsChanged) -> XConfigOptionsChanged:
    """*action* without the models that the site does not allow, but for one that is chosen."""
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
    """The first model that *option* offers and the site allows; None where there is none."""
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
    """Returns why an agent that is less confined than the site's policy now wants does not go on."""
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
