"""Decides if an agent is confined: which of the places that say something about it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agentnb.agent.network_hosts import checked_hosts
from agentnb.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentnb.agent.confinement import Network

Confining: TypeAlias = bool | Literal["no network"] | tuple[str, ...]
"""What a place says: whether an agent is confined; so that it has no network; so that it reaches only these hosts."""
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
        return tuple(each for each in one if each in other) or "none"
    return max(one, other, key=_rank)


def _rank(network: Network | None) -> int:
    return 2 if isinstance(network, tuple) else (None, "all", (), "none").index(network)


def _network(choice: Confining) -> Network | None:
    if isinstance(choice, bool):
        return "all" if choice else None
    return choice if isinstance(choice, tuple) else "none"
