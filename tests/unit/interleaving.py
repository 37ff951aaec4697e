"""Puts another thread's step between any two lines of the tested code, to provoke rare races."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

MOST = 200
"""Steps after which a run counts as endless."""


class Step:
    """The *number*-th line that this thread runs of some modules."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.reached = False


@contextlib.contextmanager
def interrupted_at(number: int, modules: Sequence[ModuleType], happen: Callable[[], object]) -> Iterator[Step]:
    """Calls *happen* before the *number*-th line of *modules* that this thread runs in the body."""
    step = Step(number)
    files = {module.__file__ for module in modules}

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            step.left -= 1
            if step.left == 0:
                step.reached = True
                happen()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield step
    finally:
        sys.settrace(before)


def every_step(run: Callable[[int], Step]) -> int:
    """Calls *run* with 1, 2, 3, … until no such step is left; returns the number of steps."""
    number = 1
    while run(number).reached:
        number += 1
        assert number < MOST, "it does not come to an end"
    assert number > 1, "nothing of it was run"
    return number - 1
