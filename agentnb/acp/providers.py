"""Where an agent sends its requests to models, where it lets its client say that (ACP ``providers/*``, a draft)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentnb.acp.fields import objects
from agentnb.errors import AgentError, AgentStartFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from agentnb.agent.catalog import AgentSpec, Provider


async def set_providers(
    spec: AgentSpec,
    capabilities: Mapping[str, Any],
    env: Mapping[str, str],
    ask: Callable[[str, dict[str, Any]], Awaitable[Any]],
) -> None:
    """Set the providers that the agent's description names; it does not start where that cannot be done.

    Raises:
        AgentStartFailed: If not: its requests would go elsewhere than its user wants.
    """
    if not spec.providers:
        return
    if capabilities.get("providers") is None:
        message = f"{spec.title} does not let its model providers be set, as its description requires."
        raise AgentStartFailed(
            message, hint="Remove [providers] there, or set them as the agent's own documentation says."
        )
    answer = await ask("providers/list", {})
    offered = {
        each.get("providerId"): each for each in objects(answer.get("providers") if isinstance(answer, dict) else None)
    }
    for name, provider in spec.providers.items():
        if name not in offered:
            known = ", ".join(str(each) for each in offered) or "none"
            raise AgentStartFailed(f"{spec.title} has no model provider {name!r}.", hint=f"It has: {known}.")
        method = "providers/disable" if provider.disabled else "providers/set"
        try:
            await ask(method, _request(spec, name, provider, env))
        except AgentError as error:
            raise AgentStartFailed(f"{error.message} Its provider {name!r} was not set.", hint=error.hint) from error


def _request(spec: AgentSpec, name: str, provider: Provider, env: Mapping[str, str]) -> dict[str, Any]:
    if provider.disabled:
        return {"providerId": name}
    headers = {}
    if provider.token_variable is not None:
        token = env.get(provider.token_variable)
        if not token:
            message = f"{spec.title} was not started: the variable {provider.token_variable} is not set."
            raise AgentStartFailed(message, hint=f"It holds the token of the provider {name!r}.")
        headers["Authorization"] = f"Bearer {token}"
    return {"providerId": name, "apiType": provider.api_type, "baseUrl": provider.base_url, "headers": headers}
