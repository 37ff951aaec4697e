"""Hypothesis strategies for every struct of `agentnb.state`, made from the structs themselves."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from random import Random
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
    names,
    to_json,
)
from agentnb.state.codec import ACTIONS

Make = Callable[[Random], Any]
"""Makes a value from random numbers."""

IDS = ("1", "2", "3")
NAMES = {
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
}
"""Fields for ids and names; few values, so that actions refer to the same things."""

EVERYDAY = "ab 01\n"
AWKWARD = '\0\t"\\</\x7f\xa0\u2028\ufeff\uffff\N{SNOWMAN}\N{COMBINING ACUTE ACCENT}\U0001f600'
LATEST = 253_402_300_799_999
NUMBERS = (0, 1, -1, 2**31, -(2**31), 2**53, -(2**53))
FLOATS = (0.0, 1.0, -1.0, 0.1, 1e-7, 1e21, 5e-324, sys.float_info.max, -sys.float_info.max)
DEEPEST = 3  # nested lists and objects in JSON


def _character(random: Random) -> str:
    if (choice := random.random()) < 0.6:
        return random.choice(EVERYDAY)
    if choice < 0.8:
        return random.choice(AWKWARD)
    number = random.randrange(0x10FFFF - 0x800)
    return chr(number if number < 0xD800 else number + 0x800)  # skips surrogates


def _text(random: Random, longest: int = 4) -> str:
    return "".join(_character(random) for _ in range(random.randint(0, longest)))


def _integer(random: Random) -> int:
    return random.choice(NUMBERS) if random.random() < 0.3 else random.randint(-(2**53), 2**53)


def _float(random: Random) -> float:
    # JSON.stringify in TypeScript writes -0 as 0.
    number = random.choice(FLOATS) if random.random() < 0.4 else random.uniform(-1, 1) * 10.0 ** random.randint(-20, 20)
    return number + 0.0


def _json(random: Random, depth: int = 0) -> Any:
    choice = random.randint(0, 4 if depth == DEEPEST else 6)
    if choice == 5:
        return [_json(random, depth + 1) for _ in range(random.randint(0, 2))]
    if choice == 6:
        return _object(random, depth + 1)
    simple: tuple[Make, ...] = (lambda _: None, _boolean, _integer, _float, _text)
    return simple[choice](random)


def _object(random: Random, depth: int = 0) -> dict[str, Any]:
    return {_text(random, 3): _json(random, depth) for _ in range(random.randint(0, 2))}


def _boolean(random: Random) -> bool:
    return random.random() < 0.5


_STRUCTS: dict[Any, Make] = {}


def _struct(kind: Any) -> Make:
    """Makes instances of a struct class, with or without optional fields."""
    if kind not in _STRUCTS:
        info = inspect.type_info(kind)
        assert isinstance(info, inspect.StructType)
        fields = {field.name: _field(field) for field in info.fields}
        _STRUCTS[kind] = _filled(kind, fields)
    return _STRUCTS[kind]


def _filled(kind: Any, fields: dict[str, Make]) -> Make:
    return lambda random: kind(**{name: make(random) for name, make in fields.items()})


def _field(field: inspect.Field) -> Make:
    if field.name not in NAMES:
        return _values(field.type)
    named = IDS if field.required else (*IDS, None)
    return lambda random: random.choice(named)


def _one_of(makes: tuple[Make, ...]) -> Make:
    return lambda random: random.choice(makes)(random)


def _open(kind: type) -> Make:
    return lambda random: OPEN[kind](random)  # noqa: PLW0108 - filled below


def _nested(kind: Any) -> Make:
    return lambda random: _struct(kind)(random)  # noqa: PLW0108 - structs hold themselves


def _several(make: Make, into: Callable[[list[Any]], Any]) -> Make:
    return lambda random: into([make(random) for _ in range(random.randint(0, 3))])


def _mapping(make: Make) -> Make:
    return lambda random: {each: make(random) for each in IDS if random.random() < 0.5}


def _whole(info: Any) -> Make:
    first, last = (1, 2**40) if info.ge == 1 else (0, LATEST)
    return lambda random: random.choice((first, last)) if random.random() < 0.2 else random.randint(first, last)


MAKES: dict[type[inspect.Type], Callable[[Any], Make]] = {
    inspect.AnyType: lambda _: _json,
    inspect.BoolType: lambda _: _boolean,
    inspect.CustomType: lambda info: _open(info.cls),
    inspect.DictType: lambda info: _mapping(_values(info.value_type)),
    inspect.EnumType: lambda info: lambda random: random.choice(list(info.cls)),
    inspect.FloatType: lambda _: _float,
    inspect.IntType: _whole,
    inspect.LiteralType: lambda info: lambda random: random.choice(info.values),
    inspect.NoneType: lambda _: lambda _: None,
    inspect.StrType: lambda _: _text,
    inspect.StructType: lambda info: _nested(info.cls),
    inspect.UnionType: lambda info: _one_of(tuple(_values(one) for one in info.types)),
    inspect.VarTupleType: lambda info: _several(_values(info.item_type), tuple),
}


def _values(info: inspect.Type) -> Make:
    """Makes values of a type that `msgspec.inspect` describes."""
    return MAKES[type(info)](info)


def _unknown_part(random: Random) -> UnknownResponsePart:
    return UnknownResponsePart({**_object(random), "kind": "notYetKnown"})


def _unknown_action(random: Random) -> UnknownAction:
    return UnknownAction({**_object(random), "type": "chat/notYetKnown"})


_any_part = _one_of((*(_struct(kind) for kind in KnownResponsePart.__args__), _unknown_part))
OPEN: dict[type, Make] = {
    ResponsePart: _any_part,
    Parts: _several(_any_part, Parts),
    TerminalViews: _several(_struct(TerminalView), TerminalViews),
    Action: _one_of(tuple(_struct(kind) for name, kind in ACTIONS.items() if name != "x-agentnb/late")),
}


def _drawn(make: Make) -> st.SearchStrategy[Any]:
    return st.integers(0, 2**63).map(lambda number: make(Random(number)))


def kinds(channel: str) -> tuple[type[Any], ...]:
    """Returns the actions of a channel."""
    return tuple(kind for kind in ACTIONS.values() if kind.channel_kind == channel)


def every_struct() -> list[type[msgspec.Struct]]:
    """Returns each struct class that is not only a base of others."""
    found = [value for value in vars(names).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)]
    return [kind for kind in found if not kind.__subclasses__()]


def on_the_wire(value: Any) -> bytes:
    """Returns JSON that is equal if two values are the same on the wire, where ``false`` is not ``0``."""
    return msgspec.json.encode(to_json(value), order="sorted")


def structs(kind: Any) -> st.SearchStrategy[Any]:
    """Instances of a struct class, with or without optional fields."""
    return _drawn(_struct(kind))


@functools.cache
def actions(kinds: tuple[type[msgspec.Struct], ...]) -> st.SearchStrategy[Any]:
    """Actions of these kinds, and sometimes one of an unknown kind."""
    return _drawn(_one_of((*(_struct(kind) for kind in kinds), _unknown_action)))
