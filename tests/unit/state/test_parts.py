"""The parts of a turn: as a tuple, but found and replaced in constant time."""

from __future__ import annotations

import copy
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from agentnb.state import (
    MarkdownResponsePart,
    Parts,
    PlanResponsePart,
    ResponsePart,
    ToolCallPendingConfirmationState,
    ToolCallResponsePart,
    ToolCallRunningState,
    part_id,
)
from tests.unit.linear import is_linear

IDS = st.integers(0, 6).map(str)


def _waiting(call_id: str) -> ToolCallResponsePart:
    call = ToolCallPendingConfirmationState(
        tool_call_id=call_id, tool_name="read", display_name="Read", invocation_message="Read"
    )
    return ToolCallResponsePart(tool_call=call)


def _running(call_id: str) -> ToolCallResponsePart:
    call = ToolCallRunningState(
        tool_call_id=call_id, tool_name="read", display_name="Read", invocation_message="Read", confirmed="not-needed"
    )
    return ToolCallResponsePart(tool_call=call)


KINDS: list[Callable[[str], ResponsePart]] = [
    _waiting,
    _running,
    lambda name: MarkdownResponsePart(id=name, content="text"),
    lambda name: PlanResponsePart(id=name, plan_id=f"plan {name}", entries=()),
]
PART = st.builds(lambda kind, name: kind(name), st.sampled_from(KINDS), IDS)


class PartsAsTuples(RuleBasedStateMachine):
    """Many versions that share what they can, each beside the tuple that it must equal."""

    versions = Bundle("versions")

    @rule(target=versions, parts=st.lists(PART, max_size=200))
    def begin(self, parts: list[ResponsePart]) -> tuple[Parts, tuple[ResponsePart, ...]]:
        return self.checked(Parts(parts), tuple(parts))

    @rule(target=versions, version=versions, part=PART)
    def append(self, version: tuple[Parts, tuple[ResponsePart, ...]], part: ResponsePart) -> object:
        parts, model = version
        return self.checked(parts.appended(part), (*model, part))

    @rule(target=versions, version=versions, at=st.integers(0, 300), kind=st.sampled_from(KINDS))
    def replace(self, version: tuple[Parts, tuple[ResponsePart, ...]], at: int, kind: object) -> object:
        parts, model = version
        if at >= len(model):
            return version
        name = part_id(model[at]) or ""
        part = next(make(name) for make in KINDS if make is kind)
        return self.checked(parts.put(at, part), (*model[:at], part, *model[at + 1 :]))

    @rule(target=versions, version=versions, at=st.integers(0, 300))
    def remove(self, version: tuple[Parts, tuple[ResponsePart, ...]], at: int) -> object:
        parts, model = version
        return version if at >= len(model) else self.checked(parts.without(at), (*model[:at], *model[at + 1 :]))

    @rule(version=versions)
    def look(self, version: tuple[Parts, tuple[ResponsePart, ...]]) -> None:
        self.checked(*version)

    def checked(self, parts: Parts, model: tuple[ResponsePart, ...]) -> tuple[Parts, tuple[ResponsePart, ...]]:
        assert (tuple(parts), len(parts), parts == model, model == parts) == (model, len(model), True, True)
        assert tuple(reversed(parts)) == tuple(reversed(model))
        assert (parts[-1:], parts == Parts(model), hash(parts)) == (model[-1:], True, hash(model))
        for name in map(str, range(8)):
            places = [at for at, part in enumerate(model) if part_id(part) == name]
            assert parts.find(name) == (places[-1] if places else -1)
            plans = [
                at
                for at, part in enumerate(model)
                if isinstance(part, PlanResponsePart) and part.plan_id == f"plan {name}"
            ]
            assert parts.find_plan(f"plan {name}") == (plans[-1] if plans else -1)
        calls = [part.tool_call for part in model if isinstance(part, ToolCallResponsePart)]
        running = [call for call in calls if isinstance(call, ToolCallRunningState)]
        assert (parts.waiting, parts.begun) == (len(calls) - len(running), len(running))
        assert [*parts.begun_calls()] == running[::-1]
        return parts, model


TestPartsAsTuples = PartsAsTuples.TestCase


@given(st.lists(PART, max_size=150))
def test_parts_when_copied_are_the_same(parts: list[ResponsePart]) -> None:
    """Deep copies and pickles are made of the parts, not of the index."""
    assert copy.deepcopy(Parts(parts)) == Parts(parts)


def test_a_plan_in_the_place_of_a_tool_call_is_found() -> None:
    """A part that replaces another one of the same id may be of another kind."""
    plan = PlanResponsePart(id="0", plan_id="plan 0", entries=())
    parts = Parts([_waiting("0")]).put(0, plan)
    assert (parts.find("0"), parts.find_plan("plan 0")) == (0, 0)


def put(count: int) -> None:
    """*count* parts, each added and changed."""
    parts = Parts()
    for number in range(count):
        parts = parts.appended(_waiting(str(number)))
        parts = parts.put(parts.find(str(number)), _running(str(number)))


def test_a_part_costs_the_same_however_many_there_are() -> None:
    """Sixteen times as long it would be for four times as many, were each searched for."""
    assert is_linear(put, 4_000)
