"""An analysis ends at its time limit, at any point."""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import TYPE_CHECKING

import pytest

from agentnb.errors import UsageError
from agentnb.plugins.knowledge.code.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def slow_callback() -> Iterator[None]:
    """Lets the garbage collector call Python code, as other libraries do: exceptions there are only printed."""

    def called(phase: str, info: dict[str, int]) -> None:
        del phase, info
        for _ in range(20_000):
            pass

    gc.callbacks.append(called)
    try:
        yield
    finally:
        gc.callbacks.remove(called)


def collect() -> None:
    while True:
        gc.collect(0)
        for _ in range(20_000):
            pass


def caught_once() -> None:
    """Catches one exception of any kind."""
    with contextlib.suppress(BaseException):
        spin()
    spin()


def spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("work", [collect, caught_once, spin])
def test_analysis_ends_at_its_deadline(work: object) -> None:
    """Callbacks of the collector that interrupt it, or catching the exception once, do not prevent that."""
    deadline = Deadline()
    with slow_callback(), pytest.raises(UsageError, match=r"took more than 0\.05 s"):
        deadline.run(work, 0.05)  # type: ignore[arg-type]
    assert [each.name for each in threading.enumerate() if each.name == "agentnb-code"] == []
    assert deadline.run(lambda: 5, 10) == 5
