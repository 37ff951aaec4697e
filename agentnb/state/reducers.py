"""Every reducer, by its action: a function says with :func:`reduces` which action it reduces, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

from agentnb.state.action import Action, ChannelKind, KnownAction
from agentnb.state.change import changed

S = TypeVar("S")
A = TypeVar("A", bound=KnownAction)

REDUCERS: dict[ChannelKind | None, dict[type[Action], Callable[[Any, Any], Any]]] = {
    kind: {} for kind in get_args(ChannelKind)
}
"""What each action does to the state of its channel, by channel."""


SETS: dict[ChannelKind | None, dict[type[KnownAction], dict[str, str]]] = {kind: {} for kind in get_args(ChannelKind)}
"""The actions that only set fields of the state: the action's field for each of the state's, by channel. The page works
by this table, too."""


def sets(kind: type[KnownAction], *names: str, **fields: str) -> None:
    """Add a row to the table: the action *kind* sets these fields of the state.

    Args:
        kind: The action.
        names: Fields that have the same name in the action and in the state.
        fields: The action's field for each of the state's that is called otherwise.
    """
    row = {**{name: name for name in names}, **fields}
    SETS[kind.channel_kind][kind] = row
    REDUCERS[kind.channel_kind][kind] = lambda state, action: changed(
        state, **{name: getattr(action, source) for name, source in row.items()}
    )


def reduces(kind: type[A]) -> Callable[[Callable[[S, A], S]], Callable[[S, A], S]]:
    """Make the function below the reducer of the action *kind*, in the channel that the action's base class says."""

    def registered(reducer: Callable[[S, A], S]) -> Callable[[S, A], S]:
        REDUCERS[kind.channel_kind][kind] = reducer
        return reducer

    return registered
