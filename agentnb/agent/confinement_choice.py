"""Decides if an agent is confined: which of the places that say something about it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agentnb.agent.network_hosts import checked_hosts, host_and_port, is_allowed
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentnb.agent.confinement import Network

Confining: TypeAlias = bool | Literal["no network"] | tuple[str, ...]
"""What a place says: whether an agent is confined; so that it has no network; so that it reaches only these hosts."""
EVERY = "*"
"""What stands for every agent in the table ``[agents]`` of a policy file."""
_HINT = 'Write true, false, "no network", or a list of the only hosts, such as ["pypi.org", "*.example.org"].'


class ConfinementChoice(NamedTuple):
    """The confinement that was chosen for an agent, and who chose it."""

    network: Network | None
    is_unasked: bool = False


def confinement_choice(
    choices: Iterable[Confining | None], project: Confining | None = None, *, unasked: bool
) -> ConfinementChoice:
    """The network that an agent is confined to, if it is confined."""
    places = [*choices]
    is_unasked = unasked and not project and all(each is None for each in places)
    return ConfinementChoice("all" if is_unasked else network_left(places, project), is_unasked)


def checked_confining(choice: object) -> Confining:
    """*said*, which a file says under ``confine``, where it makes sense."""
    if isinstance(choice, bool):
        return choice
    if choice == "no network":
        return "no network"
    if isinstance(choice, (list, tuple)):
        return checked_hosts(choice)
    raise UsageError(f"confine is {choice!r}.", hint=_HINT)


def network_left(choices: Iterable[Confining | None], project: Confining | None = None) -> Network | None:
    """Returns what an agent gets of the network; None: it is not confined."""
    chosen = next((each for each in choices if each is not None), False)
    return narrower(_network(chosen), _network(project or False))


def narrower(one: Network | None, other: Network | None) -> Network | None:
    """The narrower of two; of two lists of hosts those that both have."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        both = [each for each in one if _covers(other, each)] + [each for each in other if _covers(one, each)]
        return tuple(dict.fromkeys(both)) or "none"
    return max(one, other, key=_rank)


def _covers(hosts: tuple[str, ...], pattern: str) -> bool:
    """True if *hosts* allow all that *pattern* does."""
    name, port = host_and_port(pattern.removeprefix("*."))
    host = pattern.partition(":")[0] if pattern.startswith("*.") else name
    every_port = (each for each in hosts if port is not None or host_and_port(each.removeprefix("*."))[1] is None)
    return pattern in hosts or is_allowed(every_port, host, port or 0)


def tighter(one: Confining | None, other: Confining | None) -> Confining | None:
    """The tighter of what two places say; None where neither says anything."""
    if one is None or other is None:
        return other if one is None else one
    left = narrower(_network(one), _network(other))
    return left if isinstance(left, tuple) else {None: False, "all": True, "none": "no network"}[left]  # type: ignore[return-value]


def confining_of(agent: str, confine: Mapping[str, Confining]) -> Confining | None:
    """What a place says of *agent*, by its name and for every agent (``*``): the tighter of the two."""
    return tighter(confine.get(agent), confine.get(EVERY))


def required_network(agent: str, confine: Mapping[str, Confining]) -> Network | None:
    """The most of the network that *confine* leaves *agent*; None: it need not be confined."""
    return _network(confining_of(agent, confine) or False)


def _rank(network: Network | None) -> int:
    return 2 if isinstance(network, tuple) else (None, "all", (), "none").index(network)


def _network(choice: Confining) -> Network | None:
    if isinstance(choice, bool):
        return "all" if choice else None
    return choice if isinstance(choice, tuple) else "none"
