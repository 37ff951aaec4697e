"""Checks answers by the user's function, and keeps them as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agentnb.api.answers import SHOWN, AnswerUnfit
from agentnb.api.columns import shortened
from agentnb.kernel.data_checks import DataChecks

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentnb.plugins.map.records import Body


class AnswerRefused(AnswerUnfit):
    """The user's ``check`` does not accept an answer; ``str`` says why, for the agent and for people."""


def check_answer(check: Callable[[Any], Any], body: Body) -> None:
    """Have the user's function check an answer.

    Raises:
        AnswerRefused: If it raises, or says what is wrong: of data checks the causes, and no value.
    """
    try:
        problem = check(body.text if body.output is None else body.output)
    except Exception as error:
        message = f"{type(error).__name__}: {error}".removeprefix("AssertionError: ")
        raise AnswerRefused(shortened(message, SHOWN)) from error
    if isinstance(problem, DataChecks):
        problem = " ".join(each.question for each in problem)
    if problem:
        raise AnswerRefused(shortened(str(problem), SHOWN))


def plain(value: Any) -> Any:
    """*value* as JSON has it, to be kept."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return msgspec.to_builtins(value)
