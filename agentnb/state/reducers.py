"""Every reducer, by its action: a function says with :func:`reduces` which action it reduces, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

from agentnb.state.action import Action, ChannelKind, KnownAction

S = TypeVar("S")
A = TypeVar("A", bound=KnownAction)

REDUCERS: dict[ChannelKind | None, dict[type[Action], Callable[[Any, Any], Any]]] = {
    kind: {} for kind in get_args(ChannelKind)
}
"""What each action does to the state of its channel, by channel."""


def reduces(kind: type[A]) -> Callable[[Callable[[S, A], S]], Callable[[S, A], S]]:
    """Make the function below the reducer of the action *kind*, in the channel that the action's base class says."""

    def registered(reducer: Callable[[S, A], S]) -> Callable[[S, A], S]:
        REDUCERS[kind.channel_kind][kind] = reducer
        return reducer

    return registered
