"""Every reducer, by its action: a function says with :func:`reduces` which action it reduces, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from agentnb.state.action import Action, ChannelKind, KnownAction

S = TypeVar("S")
A = TypeVar("A", bound=KnownAction)

REDUCERS: dict[type[Action], Callable[[Any, Any], Any]] = {}
"""What each action does to the state of its channel."""


def reduces(kind: type[A]) -> Callable[[Callable[[S, A], S]], Callable[[S, A], S]]:
    """Make the function below the reducer of the action *kind*."""

    def registered(reducer: Callable[[S, A], S]) -> Callable[[S, A], S]:
        REDUCERS[kind] = reducer
        return reducer

    return registered


def reduced(channel: ChannelKind, state: S, action: Action) -> S:
    """The *state* of a channel after *action*; the very same where it is unknown, or for another channel."""
    reducer = REDUCERS.get(type(action))
    if reducer is None or getattr(action, "channel_kind", None) != channel:
        return state
    after: S = reducer(state, action)
    return after
