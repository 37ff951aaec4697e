"""Sequences in chunks that their versions share, and the parts of a turn with counts of waiting and running ones.

A turn can have ten thousand tool calls with three updates each, and a chat thousands of terminals. Each update of a
tuple would copy and search all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from agentnb.state.chat_part_state import InputRequestResponsePart, PlanResponsePart, ResponsePart, ToolCallResponsePart
from agentnb.state.chat_tool_state import (
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolCallState,
    ToolCallStreamingState,
)

if TYPE_CHECKING:
    from typing_extensions import Self


CHUNK = 64
T = TypeVar("T")


class ChunkedSequence(Sequence[T]):
    """Items in order of arrival, in chunks of 64 that versions share. Equal to a tuple of the same items.

    Versions also share one index from key to place, which only grows. It may have places that only another version has,
    so each place is checked before use.

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


_BEGUN = frozenset({ToolCallStreamingState, ToolCallRunningState})
_WAITS = frozenset({ToolCallPendingConfirmationState, ToolCallPendingResultConfirmationState})


class Parts(ChunkedSequence[ResponsePart]):
    """The parts of a turn, in order of arrival. Equal to a tuple of the same parts.

    Args:
        parts: The parts.

    Attributes:
        waiting: The number of tool calls that need permission to run or to use their result, and of unanswered
            questions.
        begun: The number of tool calls that the model is writing, or that run.

    Example:
        >>> from agentnb.state import MarkdownResponsePart
        >>> parts = Parts().appended(MarkdownResponsePart(id="p1", content="Hello"))
        >>> len(parts), parts.find("p1"), parts.find("p2")
        (1, 0, -1)
    """

    __slots__ = ("begun", "waiting")

    def __init__(self, parts: Iterable[ResponsePart] = ()) -> None:
        listed = tuple(parts)
        super().__init__(listed)
        self.waiting: int = sum(map(_waits, listed))
        self.begun: int = sum(map(_is_begun, listed))

    @staticmethod
    def keys_of(item: Any) -> tuple[Any, ...]:
        """A part's id, and of a plan what the agent calls it."""
        if isinstance(item, PlanResponsePart):
            return item.id, _plan_key(item.plan_id)
        name = part_id(item)
        return () if name is None else (name,)

    @classmethod
    def of(cls, parts: Iterable[ResponsePart]) -> Parts:
        """*parts* as such a sequence; the same object where they are one."""
        return parts if isinstance(parts, Parts) else cls(parts)

    def appended(self, part: ResponsePart) -> Parts:
        chunks, at, places = self._with_last(part), self._length, self._places
        if any(places.setdefault(key, at) != at for key in self.keys_of(part)):  # the id existed before
            return Parts(chain.from_iterable(chunks))
        return self._counted(chunks, at + 1, self.waiting + _waits(part), self.begun + _is_begun(part))

    def put(self, at: int, part: ResponsePart) -> Parts:
        """These parts with *part*, of the same id, in the place *at*."""
        chunks, old = self._with(at, part), self._at(at)
        if self.keys_of(part) != self.keys_of(old):  # such as a plan that replaces another part
            return Parts(chain.from_iterable(chunks))
        waiting, begun = self.waiting - _waits(old) + _waits(part), self.begun - _is_begun(old) + _is_begun(part)
        return self._counted(chunks, self._length, waiting, begun)

    def _counted(self, chunks: tuple[tuple[ResponsePart, ...], ...], length: int, waiting: int, begun: int) -> Parts:
        made = self._version(chunks, length)
        made.waiting, made.begun = waiting, begun
        return made

    def without(self, at: int) -> Parts:
        """These parts without the one in the place *at*. Takes time in proportion to their number."""
        return Parts(part for number, part in enumerate(self) if number != at)

    def find(self, wanted: str) -> int:
        """The place of the last part with that id; -1 where there is none."""
        return self._find(wanted, lambda part: part_id(part) == wanted)

    def find_plan(self, plan_id: str | None) -> int:
        """The place of the last plan that the agent calls *plan_id*; -1 where there is none."""
        return self._find(
            _plan_key(plan_id), lambda part: isinstance(part, PlanResponsePart) and part.plan_id == plan_id
        )

    def find_request(self, request_id: str) -> int:
        """The place of the question with that id that waits; -1 where there is none."""
        for at in reversed(range(self._length)) if self.waiting else ():
            part = self._at(at)
            if isinstance(part, InputRequestResponsePart) and part.request.id == request_id and part.response is None:
                return at
        return -1

    def tool_call(self, call_id: str) -> ToolCallState | None:
        at = self.find(call_id)
        part = self._at(at) if at >= 0 else None
        return part.tool_call if isinstance(part, ToolCallResponsePart) else None

    def begun_calls(self) -> Iterator[ToolCallState]:
        """The tool calls that are being written or run, the latest first."""
        left = self.begun
        for part in reversed(self) if left else ():
            if isinstance(part, ToolCallResponsePart) and _is_begun(part):
                yield part.tool_call
                left -= 1
                if not left:
                    return

    def free_id(self) -> str:
        """The id that the next part gets: ``p`` and its number, or the next number that is not in use."""
        number = self._length + 1
        while self.find(f"p{number}") >= 0:  # an earlier part was removed
            number += 1
        return f"p{number}"


def part_id(part: ResponsePart) -> str | None:
    """The id by which actions name a part: a tool call's own id, else ``id``; some parts have none."""
    if isinstance(part, ToolCallResponsePart):
        return part.tool_call.tool_call_id
    return getattr(part, "id", None)


def _plan_key(plan_id: str | None) -> tuple[str, str | None]:
    return "plan", plan_id


def _is_begun(part: ResponsePart) -> bool:
    return isinstance(part, ToolCallResponsePart) and type(part.tool_call) in _BEGUN


def _waits(part: ResponsePart) -> bool:
    if isinstance(part, ToolCallResponsePart):
        return type(part.tool_call) in _WAITS
    return type(part) is InputRequestResponsePart and part.response is None


if TYPE_CHECKING:
    ResponseParts: TypeAlias = Sequence[ResponsePart]
else:
    ResponseParts = Parts
"""What a turn is made with: any sequence of parts; what is decoded or reduced are `Parts`."""
