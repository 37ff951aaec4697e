"""The parts of a turn: a sequence that never changes, made from another one in constant time however long it is.

A turn can have ten thousand tool calls with three updates each. A tuple would be copied and searched for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from agentnb.state.chat_part_state import PlanResponsePart, ResponsePart, ToolCallResponsePart, part_id
from agentnb.state.chat_tool_state import (
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolCallState,
    ToolCallStreamingState,
)

_CHUNK = 64
_BEGUN = (ToolCallStreamingState, ToolCallRunningState)
_WAITS = (ToolCallPendingConfirmationState, ToolCallPendingResultConfirmationState)


class Parts(Sequence[ResponsePart]):
    """The parts of a turn, in the order they came. Equal to a tuple of the same parts.

    Parts are held in chunks of 64, which versions share. They also share one index of places by id, to which entries
    are only added; it may know places that only another version has, so each is checked before it is used.

    Args:
        parts: The parts.

    Attributes:
        waiting: How many tool calls wait for somebody to allow them or their result.
        begun: How many tool calls are being written by the model, or run.

    Example:
        >>> from agentnb.state import MarkdownResponsePart
        >>> parts = Parts().appended(MarkdownResponsePart(id="p1", content="Hello"))
        >>> len(parts), parts.find("p1"), parts.find("p2")
        (1, 0, -1)
    """

    __slots__ = ("_chunks", "_length", "_places", "begun", "waiting")

    def __init__(self, parts: Iterable[ResponsePart] = ()) -> None:
        listed = tuple(parts)
        self._chunks = tuple(listed[at : at + _CHUNK] for at in range(0, len(listed), _CHUNK))
        self._length = len(listed)
        self._places: dict[Any, int] = {key: at for at, part in enumerate(listed) for key in _keys(part)}
        self.waiting = sum(map(_waits, listed))
        self.begun = sum(map(_is_begun, listed))

    @classmethod
    def of(cls, parts: Iterable[ResponsePart]) -> Parts:
        """*parts* as such a sequence; the same object where they are one."""
        return parts if isinstance(parts, Parts) else cls(parts)

    def appended(self, part: ResponsePart) -> Parts:
        """These parts and *part* behind them."""
        last = self._chunks[-1] if self._length % _CHUNK else ()
        full = self._chunks[:-1] if last else self._chunks
        chunks, at, places = (*full, (*last, part)), self._length, self._places
        if any(places.setdefault(key, at) != at for key in _keys(part)):  # an id that was there before
            return Parts(chain.from_iterable(chunks))
        return _made(chunks, at + 1, places, self.waiting + _waits(part), self.begun + _is_begun(part))

    def put(self, at: int, part: ResponsePart) -> Parts:
        """These parts with *part*, of the same id, in the place *at*."""
        number, inside = divmod(at, _CHUNK)
        chunk = self._chunks[number]
        chunks = (
            *self._chunks[:number],
            (*chunk[:inside], part, *chunk[inside + 1 :]),
            *self._chunks[number + 1 :],
        )
        old = chunk[inside]
        if _keys(part) != _keys(old):  # a plan in the place of another part: it is found by other names
            return Parts(chain.from_iterable(chunks))
        waiting, begun = self.waiting - _waits(old) + _waits(part), self.begun - _is_begun(old) + _is_begun(part)
        return _made(chunks, self._length, self._places, waiting, begun)

    def without(self, at: int) -> Parts:
        """These parts without the one in the place *at*. Takes time in proportion to their number."""
        return Parts(part for number, part in enumerate(self) if number != at)

    def find(self, wanted: str) -> int:
        """The place of the last part with that id; -1 where there is none."""
        return self._find(wanted, lambda part: part_id(part) == wanted)

    def find_plan(self, plan_id: str | None) -> int:
        """The place of the last plan that the agent calls *plan_id*; -1 where there is none."""
        return self._find(_plan_key(plan_id), lambda part: _is_plan(part, plan_id))

    def tool_call(self, call_id: str) -> ToolCallState | None:
        """The tool call with that id."""
        at = self.find(call_id)
        part = self[at] if at >= 0 else None
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
        while self.find(f"p{number}") >= 0:  # a part before was taken back
            number += 1
        return f"p{number}"

    def _find(self, key: Any, is_it: Any) -> int:
        at = self._places.get(key, -1)
        if at < 0 or (at < self._length and is_it(self[at])):
            return at
        return next((at for at in range(self._length - 1, -1, -1) if is_it(self[at])), -1)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[ResponsePart]:
        return chain.from_iterable(self._chunks)

    @overload
    def __getitem__(self, at: int) -> ResponsePart: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ResponsePart, ...]: ...
    def __getitem__(self, at: int | slice) -> ResponsePart | tuple[ResponsePart, ...]:
        if isinstance(at, slice):
            return tuple(self)[at]
        place = at + self._length if at < 0 else at
        if not 0 <= place < self._length:
            raise IndexError(at)
        number, inside = divmod(place, _CHUNK)
        return self._chunks[number][inside]

    def __reversed__(self) -> Iterator[ResponsePart]:
        return chain.from_iterable(map(reversed, reversed(self._chunks)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Parts):
            return self._chunks == other._chunks
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parts, (tuple(self),)

    def __repr__(self) -> str:
        return repr(tuple(self))


def _made(
    chunks: tuple[tuple[ResponsePart, ...], ...], length: int, places: dict[Any, int], waiting: int, begun: int
) -> Parts:
    made = object.__new__(Parts)
    made._chunks, made._length, made._places = chunks, length, places
    made.waiting, made.begun = waiting, begun
    return made


def _keys(part: ResponsePart) -> tuple[Any, ...]:
    """What a part is found by."""
    if isinstance(part, PlanResponsePart):
        return part.id, _plan_key(part.plan_id)
    name = part_id(part)
    return () if name is None else (name,)


def _plan_key(plan_id: str | None) -> tuple[str, str | None]:
    return "plan", plan_id


def _is_plan(part: ResponsePart, plan_id: str | None) -> bool:
    return isinstance(part, PlanResponsePart) and part.plan_id == plan_id


def _is_begun(part: ResponsePart) -> bool:
    return isinstance(part, ToolCallResponsePart) and isinstance(part.tool_call, _BEGUN)


def _waits(part: ResponsePart) -> bool:
    return isinstance(part, ToolCallResponsePart) and isinstance(part.tool_call, _WAITS)


if TYPE_CHECKING:
    ResponseParts: TypeAlias = Sequence[ResponsePart]
else:
    ResponseParts = Parts
"""What a turn is made with: any sequence of parts; what is decoded or reduced are `Parts`."""
