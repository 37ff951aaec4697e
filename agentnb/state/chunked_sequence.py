"""A sequence that never changes, made from another one in constant time however long it is.

A turn can have ten thousand tool calls with three updates each, and a chat thousands of terminals. A tuple would be
copied and searched for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import Self

CHUNK = 64
T = TypeVar("T")


class ChunkedSequence(Sequence[T]):
    """Items in chunks of 64, which versions share, in the order they came. Equal to a tuple of the same items.

    Versions also share one index of places by key, to which entries are only added; it may know places that only
    another version has, so each is checked before it is used.

    Args:
        items: The items.
    """

    __slots__ = ("_chunks", "_length", "_places")

    def __init__(self, items: Iterable[T] = ()) -> None:
        listed = tuple(items)
        self._chunks = tuple(listed[at : at + CHUNK] for at in range(0, len(listed), CHUNK))
        self._length = len(listed)
        self._places: dict[Any, int] = {key: at for at, item in enumerate(listed) for key in self.keys_of(item)}

    @staticmethod
    def keys_of(item: Any) -> tuple[Any, ...]:
        """Returns what *item* is found by."""
        raise NotImplementedError

    def _with_last(self, item: T) -> tuple[tuple[T, ...], ...]:
        last = self._chunks[-1] if self._length % CHUNK else ()
        return (*(self._chunks[:-1] if last else self._chunks), (*last, item))

    def _with(self, at: int, item: T) -> tuple[tuple[T, ...], ...]:
        number, inside = divmod(at, CHUNK)
        chunk = self._chunks[number]
        return (*self._chunks[:number], (*chunk[:inside], item, *chunk[inside + 1 :]), *self._chunks[number + 1 :])

    def _version(self, chunks: tuple[tuple[T, ...], ...], length: int) -> Self:
        """Another version, of these chunks; it shares the index of places."""
        made = object.__new__(type(self))
        made._chunks, made._length, made._places = chunks, length, self._places
        return made

    def _find(self, key: Any, is_it: Callable[[T], bool]) -> int:
        at = self._places.get(key, -1)
        if at < 0 or (at < self._length and is_it(self._at(at))):
            return at
        return next((at for at in range(self._length - 1, -1, -1) if is_it(self._at(at))), -1)

    def _at(self, place: int) -> T:
        """The item at *place*, which is known to be one from the beginning."""
        return self._chunks[place // CHUNK][place % CHUNK]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._chunks)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            return tuple(self)[at]
        place = at + self._length if at < 0 else at
        if not 0 <= place < self._length:
            raise IndexError(at)
        return self._at(place)

    def __reversed__(self) -> Iterator[T]:
        return chain.from_iterable(map(reversed, reversed(self._chunks)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ChunkedSequence):
            return bool(self._chunks == other._chunks)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)

    def __repr__(self) -> str:
        return repr(tuple(self))
