"""The state of Python's own objects: lists, dicts, sets, and objects that consist of their attributes.

A state is kept with the methods of the built-in types themselves, whatever a subclass overrides: none of the user's
``__eq__``, ``__copy__``, ``__reduce__`` or ``__iter__`` runs.
"""

from __future__ import annotations

import array
import io
import random
import types
from collections import OrderedDict, defaultdict, deque
from itertools import chain
from typing import TYPE_CHECKING, Any

from agentnb.kernel.variables.kinds import bases_of, is_own, is_same, module_of, vars_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_absent = object()
_POINTER = 8
_OF_CLASSES = frozenset({"__dict__", "__weakref__", "__doc__", "_abc_impl", "__slots__"})
_BUFFERS = (io.StringIO, io.BytesIO)


class CannotRestore(Exception):
    """An object cannot be brought back to its state as it is now."""


class State:
    """The state of an object at one moment."""

    size = 0  # bytes that only this object holds
    is_kept = True  # False if it only shows whether the object changed

    def matches(self, value: Any) -> bool:
        """True if *value* is in this state now."""
        raise NotImplementedError

    def restore(self, value: Any) -> None:
        """Bring *value* back to this state."""
        raise NotImplementedError

    def rebuilt(self) -> Any:
        """A new object in this state, for one that cannot be brought back itself."""
        raise CannotRestore

    def as_it_was(self, _value: Any, _of: Callable[[Any], Any]) -> Any:
        """An object like *_value* was, for reading and at no cost; *_of* gives the same for objects it refers to."""
        raise CannotRestore

    def children(self) -> Iterable[Any]:
        """The objects that it refers to."""
        return ()

    def held_beside(self, _value: Any) -> int:
        """The approximate number of bytes of shared memory held that *_value* no longer has."""
        return 0


class ItemsState(State):
    """The items of a list or a deque."""

    def __init__(self, value: Any) -> None:
        self._base = list if issubclass(type(value), list) else deque
        self._items = self._read(value)
        self.size: int = len(self._items) * _POINTER

    def _read(self, value: Any) -> list[Any]:
        return list.__getitem__(value, slice(None)) if self._base is list else [*deque.__iter__(value)]

    def matches(self, value: Any) -> bool:
        return same_items(self._items, self._read(value))

    def restore(self, value: Any) -> None:
        if self._base is list:
            list.__setitem__(value, slice(None), self._items)
        else:
            deque.clear(value)
            deque.extend(value, self._items)

    def children(self) -> Iterable[Any]:
        return self._items


class MappingState(State):
    """The keys and values of a dict, in their order."""

    def __init__(self, value: Any) -> None:
        kind = type(value)
        self._base = OrderedDict if issubclass(kind, OrderedDict) else dict
        # dict.copy keeps the hashes; for a class with its own ``__iter__``, it would call that.
        is_plain = self._base is dict and kind.__iter__ is dict.__iter__
        self._items: dict[Any, Any] | list[Any] = dict.copy(value) if is_plain else [*self._base.items(value)]
        self._factory = value.default_factory if type(value) is defaultdict else _absent
        self.size: int = len(self._items) * 3 * _POINTER

    def _pairs(self) -> list[Any]:
        return [*chain.from_iterable(self._items.items() if isinstance(self._items, dict) else self._items)]

    def matches(self, value: Any) -> bool:
        if self._factory is not _absent and value.default_factory is not self._factory:
            return False
        items = self._base.items(value)
        return len(self._items) == dict.__len__(value) and same_items(self._pairs(), [*chain.from_iterable(items)])

    def restore(self, value: Any) -> None:
        if self._factory is not _absent:
            value.default_factory = self._factory
        if isinstance(self._items, dict):
            dict.clear(value)
            dict.update(value, self._items)  # updating an empty dict keeps the hashes
            return
        self._base.clear(value)
        for key, each in self._items:
            self._base.__setitem__(value, key, each)

    def children(self) -> Iterable[Any]:
        return self._pairs()


class SetState(State):
    def __init__(self, value: Any) -> None:
        self._elements = frozenset(value)
        self.size: int = len(self._elements) * 2 * _POINTER

    def matches(self, value: Any) -> bool:
        if len(self._elements) != set.__len__(value):
            return False
        known = {id(each) for each in self._elements}
        others = [each for each in set.__iter__(value) if id(each) not in known]
        return all(any(is_same(each, other) for other in self._elements) for each in others[:1000])

    def restore(self, value: Any) -> None:
        set.clear(value)
        set.update(value, self._elements)

    def children(self) -> Iterable[Any]:
        return self._elements


class BytesState(State):
    """The bytes of a ``bytearray`` or an ``array``."""

    def __init__(self, value: Any) -> None:
        self._data = _raw(value)
        self.size: int = len(self._data)

    def matches(self, value: Any) -> bool:
        return self._data == _raw(value)

    def restore(self, value: Any) -> None:
        if issubclass(type(value), bytearray):
            bytearray.__setitem__(value, slice(None), self._data)
        else:
            array.array.__delitem__(value, slice(None))
            array.array.frombytes(value, self._data)


def _raw(value: Any) -> bytes:
    with memoryview(value) as view:
        return view.tobytes()


class AttributesState(State):
    """The attributes of an object, its class, and its slots."""

    def __init__(self, value: Any) -> None:
        self._class = type(value)
        attributes = attributes_of(value)
        self._attributes = None if attributes is None else dict.copy(attributes)
        self._slots = [(slot, _slot_value(slot, value)) for slot in _slots(self._class)]
        self.size: int = (len(self._attributes or ()) + len(self._slots)) * 3 * _POINTER

    def matches(self, value: Any) -> bool:
        attributes = attributes_of(value)
        if type(value) is not self._class or (attributes is None) is not (self._attributes is None):
            return False
        if attributes is not None and not _same_attributes(self._attributes or {}, attributes):
            return False
        return all(is_same(kept, _slot_value(slot, value)) for slot, kept in self._slots)

    def restore(self, value: Any) -> None:
        if type(value) is not self._class:
            object.__setattr__(value, "__class__", self._class)
        attributes = attributes_of(value)
        if attributes is not None and self._attributes is not None:
            dict.clear(attributes)
            dict.update(attributes, self._attributes)
        for slot, kept in self._slots:
            if kept is not _absent:
                slot.__set__(value, kept)
            elif _slot_value(slot, value) is not _absent:
                slot.__delete__(value)

    def as_it_was(self, _value: Any, of: Callable[[Any], Any]) -> Any:
        made = object.__new__(self._class)
        self.restore(made)
        for name, kept in (self._attributes or {}).items():
            object.__setattr__(made, name, of(kept))
        return made

    def children(self) -> Iterable[Any]:
        slots = (kept for _, kept in self._slots if kept is not _absent)
        return chain((self._attributes or {}).values(), slots, (self._class,) if is_users(self._class) else ())


class CompoundState(State):
    """The state of a container, and of the attributes that its subclass gives it."""

    def __init__(self, *states: State) -> None:
        self._states = states
        self.size: int = sum(each.size for each in states)
        self.is_kept: bool = all(each.is_kept for each in states)

    def matches(self, value: Any) -> bool:
        return all(each.matches(value) for each in self._states)

    def restore(self, value: Any) -> None:
        for each in self._states:
            each.restore(value)

    def rebuilt(self) -> Any:
        return self._states[0].rebuilt()

    def children(self) -> Iterable[Any]:
        return chain.from_iterable(each.children() for each in self._states)


class FunctionState(State):
    """The attributes, defaults and variables that a function of the user's keeps between its calls."""

    _FIELDS = ("__code__", "__defaults__", "__kwdefaults__")

    def __init__(self, value: types.FunctionType) -> None:
        self._attributes = dict.copy(value.__dict__)
        self._fields = [getattr(value, field) for field in self._FIELDS]
        self.cells: tuple[types.CellType, ...] = value.__closure__ or ()

    def matches(self, value: types.FunctionType) -> bool:
        same = all(getattr(value, field) is kept for field, kept in zip(self._FIELDS, self._fields, strict=True))
        return same and _same_attributes(self._attributes, value.__dict__)

    def restore(self, value: types.FunctionType) -> None:
        dict.clear(value.__dict__)
        dict.update(value.__dict__, self._attributes)
        for field, kept in zip(self._FIELDS, self._fields, strict=True):
            setattr(value, field, kept)

    def children(self) -> Iterable[Any]:
        _, defaults, keywords = self._fields
        return chain(self._attributes.values(), defaults or (), () if keywords is None else (keywords,), self.cells)


class CellState(State):
    """The variable of a function that a function inside it shares."""

    def __init__(self, value: types.CellType) -> None:
        self._content = _content(value)

    def matches(self, value: types.CellType) -> bool:
        return is_same(self._content, _content(value))

    def restore(self, value: types.CellType) -> None:
        if self._content is not _absent:
            value.cell_contents = self._content
        elif _content(value) is not _absent:
            del value.cell_contents

    def children(self) -> Iterable[Any]:
        return () if self._content is _absent else (self._content,)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _absent


class ClassState(State):
    """The attributes of a class of the user's."""

    def __init__(self, value: type[Any]) -> None:
        self._attributes = _class_attributes(value)

    def matches(self, value: type[Any]) -> bool:
        return _same_attributes(self._attributes, _class_attributes(value))

    def restore(self, value: type[Any]) -> None:
        now = _class_attributes(value)
        for name in now.keys() - self._attributes.keys():
            type.__delattr__(value, name)
        for name, kept in self._attributes.items():
            if now.get(name, _absent) is not kept:
                type.__setattr__(value, name, kept)

    def children(self) -> Iterable[Any]:
        return self._attributes.values()


def _class_attributes(kind: type[Any]) -> dict[str, Any]:
    return {name: each for name, each in vars_of(kind).items() if name not in _OF_CLASSES}


class MethodsState(State):
    """The state of an object of the standard library or NumPy that gives and takes its state itself."""

    def __init__(self, value: Any, read: Callable[[Any], Any], write: Callable[[Any, Any], object]) -> None:
        self._read = read
        self._write = write
        self._state = read(value)
        self.size: int = len(self._state[0]) if issubclass(type(value), _BUFFERS) else 0

    def matches(self, value: Any) -> bool:
        return repr(self._read(value)) == repr(self._state)

    def restore(self, value: Any) -> None:
        self._write(value, self._state)


def buffer_state(value: Any) -> MethodsState:
    """The text or bytes of a file in memory, and its position."""
    return MethodsState(value, lambda file: (file.getvalue(), file.tell()), _write_buffer)


def _write_buffer(file: Any, state: tuple[Any, int]) -> None:
    file.seek(0)
    file.truncate()
    file.write(state[0])
    file.seek(state[1])


def random_state(value: Any) -> MethodsState:
    return MethodsState(value, random.Random.getstate, random.Random.setstate)


def generator_state(value: Any) -> MethodsState:
    """The state of a NumPy random number generator."""

    def bits(generator: Any) -> Any:
        return generator.bit_generator if hasattr(generator, "bit_generator") else generator._bit_generator  # noqa: SLF001

    def write(generator: Any, state: Any) -> None:
        bits(generator).state = state

    return MethodsState(value, lambda generator: bits(generator).state, write)


def same_items(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """True if both have the same objects in the same order, or equal numbers and texts."""
    return len(one) == len(other) and all(map(is_same, one, other))


def _same_attributes(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return same_items([*chain.from_iterable(one.items())], [*chain.from_iterable(other.items())])


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The attributes of *value* as its dict; None if it has only slots."""
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return attributes if type(attributes) is dict else None


def is_users(kind: type[Any]) -> bool:
    """True if *kind* is a class of the user's own."""
    return is_own(module_of(kind))


def _slots(kind: type[Any]) -> list[Any]:
    own = (vars_of(base).values() for base in bases_of(kind))
    return [each for each in chain.from_iterable(own) if type(each) is types.MemberDescriptorType]


def _slot_value(slot: Any, value: Any) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:
        return _absent
