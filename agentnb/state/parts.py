"""The parts of a turn: a sequence that counts which of its tool calls wait and run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from agentnb.state.chat_part_state import (
    InputRequestResponsePart,
    PlanResponsePart,
    ResponsePart,
    ToolCallResponsePart,
)
from agentnb.state.chat_tool_state import (
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolCallState,
    ToolCallStreamingState,
)
from agentnb.state.chunked_sequence import ChunkedSequence

_BEGUN = frozenset({ToolCallStreamingState, ToolCallRunningState})
_WAITS = frozenset({ToolCallPendingConfirmationState, ToolCallPendingResultConfirmationState})


class Parts(ChunkedSequence[ResponsePart]):
    """The parts of a turn, in the order they came. Equal to a tuple of the same parts.

    Args:
        parts: The parts.

    Attributes:
        waiting: How many tool calls wait for somebody to allow them or their result, and questions for an answer.
        begun: How many tool calls are being written by the model, or run.

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
        """These parts and *part* behind them."""
        chunks, at, places = self._with_last(part), self._length, self._places
        if any(places.setdefault(key, at) != at for key in self.keys_of(part)):  # an id that was there before
            return Parts(chain.from_iterable(chunks))
        return self._counted(chunks, at + 1, self.waiting + _waits(part), self.begun + _is_begun(part))

    def put(self, at: int, part: ResponsePart) -> Parts:
        """These parts with *part*, of the same id, in the place *at*."""
        chunks, old = self._with(at, part), self._at(at)
        if self.keys_of(part) != self.keys_of(old):  # such as a plan in the place of another part
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
        return self._find(_plan_key(plan_id), lambda part: _is_plan(part, plan_id))

    def find_request(self, request_id: str) -> int:
        """The place of the question with that id that waits; -1 where there is none."""
        for at in reversed(range(self._length)) if self.waiting else ():
            part = self._at(at)
            if isinstance(part, InputRequestResponsePart) and part.request.id == request_id and part.response is None:
                return at
        return -1

    def tool_call(self, call_id: str) -> ToolCallState | None:
        """The tool call with that id."""
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
        while self.find(f"p{number}") >= 0:  # a part before was taken back
            number += 1
        return f"p{number}"


def part_id(part: ResponsePart) -> str | None:
    """The id by which actions name a part: a tool call's own id, else ``id``; some parts have none."""
    if isinstance(part, ToolCallResponsePart):
        return part.tool_call.tool_call_id
    return getattr(part, "id", None)


def _plan_key(plan_id: str | None) -> tuple[str, str | None]:
    return "plan", plan_id


def _is_plan(part: ResponsePart, plan_id: str | None) -> bool:
    return isinstance(part, PlanResponsePart) and part.plan_id == plan_id


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
