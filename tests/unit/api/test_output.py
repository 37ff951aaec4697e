"""Typed answers: prompted for, prompted for again if they do not fit, read as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from agentnb import Session
from agentnb.errors import TurnCancelled, TurnFailed, UsageError
from tests.unit.running import run

Start = Callable[..., Session]


@dataclass
class Label:
    label: str
    score: int


def test_output_is_requested_again_when_the_answer_does_not_fit(start: Start) -> None:
    """The value comes from the second answer; the turn can be awaited."""
    session = start("moody")
    turn = session.prompt("json-late", output=Label)

    async def awaited() -> object:
        return (await turn).output

    assert run(awaited()) == Label("good", 3)
    assert (turn.output, len(session.turns), "I would rather talk." in turn.text) == (Label("good", 3), 1, True)


def test_output_raises_with_the_reason_when_no_answer_fits(start: Start) -> None:
    """After the second try; the session continues."""
    session = start("moody")
    turn = session.prompt("json-late", output=list[int])
    with pytest.raises(TurnFailed, match=r"Expected `array`, got `object`.* It begins with 'Here: "):
        _ = turn.output
    assert session.prompt("hello").wait().text == "said hello"


def test_output_raises_for_a_plain_or_cancelled_turn(start: Start) -> None:
    """It needs ``output=``; a cancelled turn raises TurnCancelled."""
    session = start("moody")
    with pytest.raises(UsageError, match="prompted without output="):
        _ = session.prompt("hello").wait().output
    turn = session.prompt("wait", output=int)
    turn.cancel()
    with pytest.raises(TurnCancelled):
        _ = turn.output


def test_prompt_rejects_an_output_that_is_not_a_type(start: Start) -> None:
    session = start()
    with pytest.raises(UsageError, match="is not a type"):
        session.prompt("hello", output=object())
    assert session.turns == ()
