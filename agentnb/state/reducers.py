"""Every reducer, by its action: a row of a table that the page works by, too, or a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, get_args

from agentnb.state.action import Action, ChannelKind, KnownAction
from agentnb.state.change import changed, upsert, without
from agentnb.state.wire import with_flag

S = TypeVar("S")
A = TypeVar("A", bound=KnownAction)

REDUCERS: dict[ChannelKind | None, dict[type[Action], Callable[[Any, Any], Any]]] = {
    kind: {} for kind in get_args(ChannelKind)
}
"""The effect of each action on its channel's state, by channel."""

Step: TypeAlias = tuple[Any, ...]
"""A verb of the table below, the field of the state that it changes, and the verb's other arguments."""

ROWS: dict[ChannelKind | None, dict[type[KnownAction], tuple[Step, ...]]] = {kind: {} for kind in get_args(ChannelKind)}
"""The actions that are reduced by steps, by channel."""


def _merged(config: Any, action: Any) -> Any:
    if config is None:
        return None
    return changed(config, values=action.config if action.replace else {**config.values, **action.config})


_VERBS: dict[str, Callable[..., Any]] = {
    "set": lambda _old, action, source: getattr(action, source),
    "value": lambda _old, _action, value: value,
    "flag": lambda old, action, source, bit: with_flag(old, bit, on=getattr(action, source)),
    "upsert": lambda old, action, source, key: upsert(old, getattr(action, source), key),
    "remove": lambda old, action, source, key: None if old is None else without(old, key, getattr(action, source)),
    "merge": _merged,
}
"""The effect of each verb on a field: ``set`` sets a field of the action, ``value`` a constant, ``flag`` a bit from a
field of the action; ``upsert`` puts a field of the action into a list, by a key; ``remove`` removes the entry with that
key; ``merge`` merges the action's settings."""


def row(kind: type[KnownAction], *steps: Step) -> None:
    """Add a row to the table: the action *kind* changes the state by these steps, all of the state before it."""
    ROWS[kind.channel_kind][kind] = steps
    REDUCERS[kind.channel_kind][kind] = lambda state, action: changed(
        state, **{field: _VERBS[verb](getattr(state, field), action, *more) for verb, field, *more in steps}
    )


def sets(kind: type[KnownAction], *names: str, **fields: str) -> None:
    """Add a row for an action that only sets fields of the state.

    Args:
        kind: The action.
        names: Fields that have the same name in the action and in the state.
        fields: By the name of a field in the state: the action's field, if its name differs.
    """
    row(kind, *(("set", name, source) for name, source in {**{name: name for name in names}, **fields}.items()))


def reduced(channel: ChannelKind, state: S, action: Action) -> S:
    """Returns the state of a channel after *action*; the very same object if nothing has changed.

    An unknown action, or one for another channel, changes nothing.
    """
    reducer = REDUCERS[channel].get(type(action))
    after: S = state if reducer is None else reducer(state, action)
    return after


def reduces(kind: type[A]) -> Callable[[Callable[[S, A], S]], Callable[[S, A], S]]:
    """Make the function below the reducer of the action *kind*, in the channel that the action's base class says."""

    def registered(reducer: Callable[[S, A], S]) -> Callable[[S, A], S]:
        REDUCERS[kind.channel_kind][kind] = reducer
        return reducer

    return registered
