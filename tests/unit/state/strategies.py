"""Hypothesis strategies for every struct of `agentnb.state`, made from the structs themselves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from agentnb.state import (
    Action,
    KnownResponsePart,
    Parts,
    ResponsePart,
    TerminalView,
    TerminalViews,
    UnknownAction,
    UnknownResponsePart,
)
from agentnb.state.codec import ACTIONS

IDS = st.sampled_from(["1", "2", "3"])
NAMES = [
    "chat",
    "config_id",
    "id",
    "part_id",
    "question_id",
    "queued_message_id",
    "request_id",
    "resource",
    "selected_option_id",
    "terminal_id",
    "tool_call_id",
    "turn_id",
]
POOL = dict.fromkeys(NAMES, IDS)
"""Fields that name something: few values, so that actions meet."""


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.text(max_size=3), values, max_size=2)


# JSON.stringify in TypeScript knows no -0.
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOATS
JSON = st.recursive(
    LEAVES | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2) | _objects(inner), max_leaves=4
)


OBJECTS = _objects(JSON)
TIMES = st.integers(0, 253_402_300_799_999)


_STRUCTS: dict[Any, st.SearchStrategy[Any]] = {}


def structs(kind: Any) -> st.SearchStrategy[Any]:
    """Instances of a struct class, all fields filled or not."""
    if kind not in _STRUCTS:
        info = inspect.type_info(kind)
        assert isinstance(info, inspect.StructType)
        fields = {field.name: _field(field) for field in info.fields}
        _STRUCTS[kind] = st.fixed_dictionaries(fields).map(lambda values: kind(**values))
    return _STRUCTS[kind]


def _field(field: inspect.Field) -> st.SearchStrategy[Any]:
    if field.name in POOL:
        named = POOL[field.name]
        return named if field.required else named | st.none()
    return values(field.type)


def _integers(info: Any) -> st.SearchStrategy[Any]:
    return st.integers(1, 2**40) if info.ge == 1 else TIMES


STRATEGIES: dict[type[inspect.Type], Callable[[Any], st.SearchStrategy[Any]]] = {
    inspect.AnyType: lambda _: JSON,
    inspect.BoolType: lambda _: st.booleans(),
    inspect.CustomType: lambda info: st.deferred(lambda: OPEN[info.cls]),
    inspect.DictType: lambda info: st.dictionaries(IDS, values(info.value_type), max_size=3),
    inspect.EnumType: lambda info: st.sampled_from(list(info.cls)),
    inspect.FloatType: lambda _: FLOATS,
    inspect.IntType: _integers,
    inspect.LiteralType: lambda info: st.sampled_from(info.values),
    inspect.NoneType: lambda _: st.none(),
    inspect.StrType: lambda _: st.text(max_size=4),
    inspect.StructType: lambda info: st.deferred(lambda: structs(info.cls)),
    inspect.UnionType: lambda info: st.one_of(*(values(one) for one in info.types)),
    inspect.VarTupleType: lambda info: st.lists(values(info.item_type), max_size=3).map(tuple),
}


def values(info: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of a type, as `msgspec.inspect` tells it."""
    return STRATEGIES[type(info)](info)


@functools.cache
def actions(kinds: tuple[type[msgspec.Struct], ...]) -> st.SearchStrategy[Any]:
    """Actions of these kinds, now and then one of a kind that nobody knows."""
    unknown = OBJECTS.map(lambda raw: UnknownAction({**raw, "type": "chat/notYetKnown"}))
    return st.one_of(*(structs(kind) for kind in kinds), unknown)


PARTS = KnownResponsePart.__args__
ANY_PART = st.one_of(*(structs(kind) for kind in PARTS)) | OBJECTS.map(
    lambda raw: UnknownResponsePart({**raw, "kind": "notYetKnown"})
)
OPEN: dict[type, st.SearchStrategy[Any]] = {
    ResponsePart: ANY_PART,
    Parts: st.lists(ANY_PART, max_size=3).map(Parts),
    TerminalViews: st.lists(st.deferred(lambda: structs(TerminalView)), max_size=3).map(TerminalViews),
    Action: st.one_of(*(structs(kind) for name, kind in ACTIONS.items() if name != "x-agentnb/late")),
}
