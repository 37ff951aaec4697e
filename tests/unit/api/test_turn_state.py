"""The inside: a turn's properties between any two steps of the host's thread, and callbacks that misbehave."""

from __future__ import annotations

import contextlib
import logging
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.errors import UsageError
from tests.unit.api.conftest import PATIENCE
from tests.unit.interleaving import Step, every_step, interrupted_at

Start = Callable[..., Session]


def modules_of(kind: type) -> list[ModuleType]:
    """Returns the modules with a public class and its bases."""
    names = {each.__module__ for each in kind.__mro__}
    return [sys.modules[name] for name in names if name.startswith("agentnb.")]


READINGS: dict[str, tuple[Callable[[Turn], Any], set[Any]]] = {
    "state": (lambda turn: turn.state, {"queued", "running"}),
    "done": (lambda turn: turn.done, {False}),
    "stop_reason": (lambda turn: turn.stop_reason, {None}),
    "raise_for_error": (lambda turn: turn.raise_for_error() is turn, {True}),
    "repr": (repr, {"<Turn queued: eliza>", "<Turn running: eliza>"}),
}


@pytest.mark.parametrize("reading", READINGS)
def test_queued_turn_that_starts_while_read_never_looks_ended(start: Start, reading: str) -> None:
    """Started between any two lines of the reading, it is seen as queued or running only."""
    read, possible = READINGS[reading]
    seen = set()

    def at(number: int) -> Step:
        session = start()  # a new one: with more turns, a read takes more lines
        running, queued = session.prompt("/hang"), session.prompt("/hang")

        def start_the_next() -> None:
            running.cancel()
            session.continue_queue()

        with interrupted_at(number, modules_of(Turn), start_the_next) as step:
            seen.add(read(queued))
        return step

    every_step(at)
    assert seen - possible == set()


def test_done_callback_runs_on_its_own_thread_and_may_block(start: Start) -> None:
    """It delays neither other callbacks nor the next turn."""
    session, go_on, names = start(), threading.Event(), []
    called = threading.Semaphore(0)

    def block(_: Turn) -> None:
        names.append(threading.current_thread().name)
        go_on.wait(PATIENCE)

    turn = session.prompt("/say x")
    turn.add_done_callback(block)
    turn.add_done_callback(lambda _: called.release())
    try:
        assert called.acquire(timeout=PATIENCE)
        assert session.prompt("/say y").wait(PATIENCE).text == "y"
    finally:
        go_on.set()
    assert names == ["agentnb-callback"]


class Raised(logging.Handler):
    """Queues the exceptions that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: queue.Queue[BaseException | None] = queue.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.queue.put(record.exc_info[1])


@pytest.fixture
def raised() -> Iterator[queue.Queue[BaseException | None]]:
    handler = Raised()
    logging.getLogger("agentnb.api").addHandler(handler)
    yield handler.queue
    logging.getLogger("agentnb.api").removeHandler(handler)


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("ended", [False, True])
def test_failing_done_callback_does_not_stop_the_session(
    start: Start, raised: queue.Queue[BaseException | None], error: type[BaseException], *, ended: bool
) -> None:
    """Later callbacks and the queue continue; the exception is logged."""

    def fail(_: Turn) -> None:
        raise error("on purpose")

    session, called = start(), threading.Event()
    turn = session.prompt("/say x")
    if ended:
        turn.wait(PATIENCE)
    turn.add_done_callback(fail)
    turn.add_done_callback(lambda _: called.set())
    assert called.wait(PATIENCE)
    assert session.prompt("/say y").wait(PATIENCE).text == "y"
    assert isinstance(raised.get(timeout=PATIENCE), error)
    assert raised.empty()


def test_editing_a_cancelled_prompt_does_not_send_it(start: Start) -> None:
    """At any moment, the edit is refused and nothing is queued."""

    def at(number: int) -> Step:
        session = start()
        session.prompt("/hang")
        queued = session.prompt("/say first")
        with (
            interrupted_at(number, modules_of(Session), queued.cancel) as step,
            contextlib.suppress(UsageError),
        ):
            session.edit(queued, "/say second")
        queued.cancel()
        assert session.queue == ()
        return step

    every_step(at)
