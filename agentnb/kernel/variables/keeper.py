"""Takes a snapshot of what names refer to: keeps what it can of each object, within limits of time and memory."""

from __future__ import annotations

import array
import io
import random
import time
import types
from collections import deque
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from agentnb.kernel.variables import kinds
from agentnb.kernel.variables.arrays import (
    ArrayMark,
    ArrayState,
    CopyMemory,
    SubclassAttributes,
    SubclassState,
    TensorState,
    owner_of,
    plain_array,
    tensor_is_plain,
    tensor_size,
)
from agentnb.kernel.variables.frames import (
    LabelsState,
    PandasState,
    PolarsState,
    copies_on_write,
    extension_state,
    pandas_size,
)
from agentnb.kernel.variables.snapshot import KeptObject, VariableSnapshot, parents_of
from agentnb.kernel.variables.states import (
    AttributesState,
    BytesState,
    CellState,
    ClassState,
    CompoundState,
    FunctionState,
    ItemsState,
    MappingState,
    SetState,
    State,
    attributes_of,
    buffer_state,
    generator_state,
    is_users,
    random_state,
)
from agentnb.memory import available_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

MOST_OBJECTS = 50_000  # objects that are visited for one piece of code
MOST_ITEMS = 1_000_000  # items of one list, dict or set that are kept
LOOK_SECONDS = 0.25  # seconds of processor time that keeping may take
LONGEST = 8  # the factor by which elapsed time may exceed that: a busy machine or a remote file takes longer
RESERVE = 256_000_000  # bytes of the machine's memory that are left free
_GLOBALS_OF_CODE = 200  # functions inside a function whose names are read

Mode = Literal["keep", "plan", "mark"]
_SIZE = "it is too large"
_FULL = "memory is nearly full"
_SIZED = frozenset({list, dict, set, deque})


class Keeper:
    """Takes a snapshot.

    As a ``"plan"``, it only reports what could not be kept; as a ``"mark"``, it shows later whether something changed;
    neither copies memory. Objects whose ids are in *skip* are left out. An object that is not reached in *seconds* of
    processor time is lost.
    """

    def __init__(
        self,
        variables: Mapping[str, Any],
        limit: int,
        *,
        mode: Mode = "keep",
        skip: Container[int] = frozenset(),
        seconds: float = LOOK_SECONDS,
    ) -> None:
        self._variables = variables
        self._mode = mode
        self._skip = skip
        self._snapshot = VariableSnapshot()
        self._limit = limit
        self._families: dict[int, tuple[type[Any], Any]] = {}
        self._failed: dict[int, str] = {}
        self._worked_until = time.thread_time() + seconds
        self._until = time.monotonic() + LONGEST * seconds
        self._waiting: list[Any] = []
        self._tuples: list[Any] = []

    @cached_property
    def _largest(self) -> int | None:
        """Half of the free memory, as code that writes to a frame may copy it; None if unknown."""
        memory = available_memory()
        return None if memory is None else max(0, memory - RESERVE) // 2

    @cached_property
    def _room(self) -> CopyMemory:
        return CopyMemory(self._limit if self._largest is None else min(self._limit, self._largest))

    @property
    def _no_room(self) -> str:
        return _SIZE if self._largest is None or self._limit <= self._largest else _FULL

    def keep(self, names: Iterable[str]) -> VariableSnapshot:
        """Keep what *names* (the most important first) lead to, and what functions among it use by name."""
        waiting = deque(dict.fromkeys(names))
        while waiting:
            name = waiting.popleft()
            if name in self._snapshot.names or name not in self._variables:
                continue
            value = self._variables[name]
            self._snapshot.add_root(name, value)
            if self._is_out_of_time():
                self._snapshot.lost[name] = "there is too much"
                continue
            waiting.extend(self._walk(value))
        self._name_lost()
        return self._snapshot

    def _is_out_of_time(self) -> bool:
        too_many = len(self._snapshot.objects) > MOST_OBJECTS
        return too_many or time.thread_time() > self._worked_until or time.monotonic() > self._until

    def _walk(self, value: Any) -> Iterator[str]:
        """Keep *value* and all that it leads to; yields the names that its functions use."""
        waiting, snapshot = [value], self._snapshot
        while waiting:
            each = waiting.pop()
            at = id(each)
            if at in snapshot.edges or at in self._skip:
                continue
            keep = self._way(type(each))
            if keep is None:
                continue
            if self._is_out_of_time():
                self._failed[at] = "there is too much"
                return
            state, children = self._kept(each, keep)
            children = [child for child in children if self._way(type(child)) is not None]
            ids = snapshot.edges[at] = tuple(map(id, children))
            if state is None:
                self._tuples.append(each)  # keeps it alive, so that no other object gets its id
            else:
                follow = (None if state.is_kept else kinds.weak_reference(each)) or partial(_itself, each)
                snapshot.objects[at] = KeptObject(at, follow, state, ids)
                if not state.is_kept:
                    self._failed[at] = self._no_room
            waiting += children
            yield from _names_used(each)

    def _kept(self, value: Any, keep: Callable[[Keeper, Any], Any]) -> tuple[State | None, list[Any]]:
        try:
            state = keep(self, value)
            if not isinstance(state, State):
                return None, [*state]
            return state, [*state.children(), *self._beside(state)]
        except _Lost as lost:
            self._failed[id(value)] = str(lost)
        except Exception:  # noqa: BLE001 - changed by another thread meanwhile, or a broken object
            self._failed[id(value)] = kinds.class_name(type(value))
        return None, []

    def _beside(self, state: State) -> Iterable[Any]:
        """The objects in a frame's columns, or all of its blocks if they are not copied on write."""
        if not isinstance(state, PandasState):
            return ()
        numpy_blocks = [each for each in state.blocks() if type(each).__module__ == "numpy"]
        if not copies_on_write():
            return state.blocks()
        objects = [each for each in numpy_blocks if each.dtype.hasobject]
        return [each for block in objects for each in self._elements(block)]

    def _elements(self, block: Any) -> list[Any]:
        if block.size > MOST_ITEMS:
            raise _Lost(_SIZE)
        elements: list[Any] = block.reshape(-1).tolist()
        return elements

    def _way(self, kind: type[Any]) -> Callable[[Keeper, Any], Any] | None:
        """Returns how objects of *kind* are kept; None if they never change."""
        known = self._families.get(id(kind))
        if known is None:
            known = self._families[id(kind)] = kind, _way_of(kind)
        return known[1]

    def _name_lost(self) -> None:
        """Record which names lead to objects that could not be kept."""
        snapshot = self._snapshot
        if not self._failed:
            return
        parents = parents_of(snapshot.edges)
        reasons = dict(self._failed)
        waiting = [*reasons]
        while waiting:
            at = waiting.pop()
            for parent in parents.get(at, ()):
                if parent not in reasons:
                    reasons[parent] = reasons[at]
                    waiting.append(parent)
        for name in snapshot.names:
            if (why := reasons.get(id(self._variables[name]))) is not None:
                snapshot.lost.setdefault(name, why)

    # --- how each is kept ---

    def container(self, value: Any, keep: Callable[[Any], State]) -> State:
        """The state of a Python container, including the attributes of a subclass of the user's."""
        if len(value) > MOST_ITEMS if type(value) in _SIZED else _length(value) > MOST_ITEMS:
            raise _Lost(_SIZE)
        state = keep(value)
        if not kinds.is_written_in_python(type(value)) or attributes_of(value) is None:
            return state
        return CompoundState(state, AttributesState(value))

    def raw(self, value: Any) -> State:
        """The state of bytes, if there is room for them."""
        with memoryview(value) as view:
            size = view.nbytes
        if not self._room.take(size):
            raise _Lost(self._no_room)
        return _Nothing() if self._mode == "plan" else BytesState(value)

    def array(self, value: Any) -> State:
        """The state of an array; if there is room, a view's memory is kept as its owner's, so that all views agree."""
        plain = plain_array(value)
        owner = owner_of(plain)
        if owner is not plain and owner is not value and owner.nbytes <= self._room.left:
            for _ in self._walk(owner):
                pass
        memory = self._snapshot.objects.get(id(owner))
        shares = owner is not value and memory is not None and memory.state.is_kept
        is_read_only = not plain.flags.writeable and plain.base is not None
        if plain.dtype.hasobject and plain.size > MOST_ITEMS:
            raise _Lost(_SIZE)
        is_kept = shares or is_read_only or self._room.take(int(plain.nbytes))
        has_copy = is_kept and not (shares or is_read_only) and self._mode == "keep"
        if self._mode == "mark" and is_kept and not shares:
            state: State = ArrayMark(value)
        else:
            state = ArrayState(value, is_kept=is_kept, has_copy=has_copy, owner=owner if shares else None)
        if type(value).__module__ == "numpy" and attributes_of(value) is None:
            return state
        return SubclassState(state, SubclassAttributes(value))

    def tensor(self, value: Any) -> State:
        if not tensor_is_plain(value):
            raise _Lost(kinds.class_name(type(value)))
        is_kept = self._room.take(tensor_size(value))
        if self._mode == "plan":
            return _Nothing(is_kept=is_kept)
        return TensorState(value, is_kept=is_kept, has_copy=self._mode == "keep")

    def pandas(self, value: Any) -> State:
        """The state of a frame or series; nothing is copied now, but the code copies the columns to which it writes."""
        if self._largest is not None and pandas_size(value) > self._largest:
            raise _Lost(_FULL)
        return PandasState(value)

    def polars(self, value: Any) -> State:
        if self._largest is not None and value.estimated_size() > self._largest:
            raise _Lost(_FULL)
        return PolarsState(value)

    def function(self, value: types.FunctionType) -> Any:
        return FunctionState(value) if kinds.is_own(str(value.__module__)) else ()

    def class_(self, value: type[Any]) -> Any:
        return ClassState(value) if is_users(value) else ()


def _itself(value: Any) -> Any:
    return value


class _Lost(Exception):
    """Something that cannot be kept, and why."""


class _Nothing(State):
    """Stands in for a state in a plan."""

    def __init__(self, *, is_kept: bool = True) -> None:
        self.is_kept = is_kept


def _length(value: Any) -> int:
    base = next(base for base in (list, dict, set, deque) if issubclass(type(value), base))
    return int(base.__len__(value))


def _lose(_keeper: Keeper, value: Any) -> Any:
    raise _Lost(kinds.class_name(type(value)))


def _names_used(value: Any) -> Iterator[str]:
    """The names of other variables that a function uses."""
    if type(value) is not types.FunctionType:
        return
    waiting = [value.__code__]
    for _ in range(_GLOBALS_OF_CODE):
        if not waiting:
            return
        code = waiting.pop()
        yield from code.co_names
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]


_BUILT_IN: tuple[tuple[Any, Callable[[Keeper, Any], Any]], ...] = (
    ((list, deque), lambda keeper, value: keeper.container(value, ItemsState)),
    (dict, lambda keeper, value: keeper.container(value, MappingState)),
    (set, lambda keeper, value: keeper.container(value, SetState)),
    (tuple, lambda _, value: [*tuple.__iter__(value)]),
    (frozenset, lambda _, value: [*frozenset.__iter__(value)]),
    ((bytearray, array.array), Keeper.raw),
    (types.FunctionType, Keeper.function),
    (types.CellType, lambda _, value: CellState(value)),
    (types.MethodType, lambda _, value: [value.__self__, value.__func__]),
    ((staticmethod, classmethod), lambda _, value: [value.__func__]),
    (property, lambda _, value: [value.fget, value.fset, value.fdel]),
    (types.SimpleNamespace, lambda _, value: AttributesState(value)),
)
_EXACT: dict[type[Any], Callable[[Keeper, Any], Any]] = {
    io.StringIO: lambda _, value: buffer_state(value),
    io.BytesIO: lambda _, value: buffer_state(value),
    random.Random: lambda _, value: random_state(value),
}
_LIBRARIES: dict[str, Callable[[Keeper, Any], Any]] = {
    "numpy.ndarray": Keeper.array,
    "numpy.random.Generator": lambda _, value: generator_state(value),
    "numpy.random.RandomState": lambda _, value: generator_state(value),
    "pandas.DataFrame": Keeper.pandas,
    "pandas.Series": Keeper.pandas,
    "pandas.api.extensions.ExtensionArray": lambda _, value: extension_state(value),
    "pandas.Index": lambda _, value: LabelsState(value),
    "polars.DataFrame": Keeper.polars,
    "polars.Series": Keeper.polars,
    "torch.Tensor": Keeper.tensor,
}


def _way_of(kind: type[Any]) -> Callable[[Keeper, Any], Any] | None:
    if kind in _EXACT:
        return _EXACT[kind]
    for base, keep in _BUILT_IN:
        if issubclass(kind, base):
            return keep
    if (name := kinds.library_class(kind, _LIBRARIES)) is not None:
        return _LIBRARIES[name]
    if issubclass(kind, type):
        return Keeper.class_
    match kinds.family(kind):
        case "fixed":
            return None
        case "plain":
            return lambda _, value: AttributesState(value)
        case "lost":
            return _lose
