"""Ctrl-C while a cell waits always takes effect, whatever the main thread is doing.

The inside: Ctrl-C at an exact moment.
"""

from __future__ import annotations

import signal
import threading
import weakref
from collections.abc import Callable
from types import FrameType

import pytest

from agentnb import Session
from agentnb.api.waiting import CountedInterrupts
from agentnb.ipython.prompt_command import AgentInterrupted, block_on
from tests.unit.api.conftest import PATIENCE, start

__all__ = ["start"]  # a fixture

Start = Callable[..., Session]


pytestmark = pytest.mark.usefixtures("heeded")


def interrupt() -> None:
    """Sends Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


def interrupt_unheard() -> None:
    """Sends Ctrl-C at a point where Python prints and drops exceptions."""

    class Thing:
        pass

    thing = Thing()
    kept = weakref.ref(thing, lambda _: interrupt())
    del thing
    assert kept() is None


def interrupt_who_waits() -> None:
    """Sends Ctrl-C from another thread, once the main thread counts interrupts: then it waits."""
    pause = threading.Event()
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        pause.wait(0.01)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class Ticks:
    """Runs one action per tick."""

    def __init__(self, *doings: Callable[[], None]) -> None:
        self._doings = list(doings)

    def __call__(self) -> None:
        if self._doings:
            self._doings.pop(0)()


@pytest.mark.parametrize("doing", [interrupt, interrupt_unheard], ids=["anywhere", "where-exceptions-are-swallowed"])
def test_interrupt_cancels_the_turn_wherever_it_arrives(doing: Callable[[], None], start: Start) -> None:
    turn = start().prompt("/slow 100000 1")
    with pytest.raises(AgentInterrupted, match="The turn was cancelled"):
        block_on(turn, Ticks(doing), timeout=PATIENCE)
    assert turn.state == "cancelled"


def test_a_second_interrupt_does_not_wait_for_the_agent(start: Start) -> None:
    """It raises at once, without the turn's last output."""
    turn = start().prompt("/slow 100000 1")
    with pytest.raises(AgentInterrupted):
        block_on(turn, Ticks(interrupt, interrupt), timeout=PATIENCE)
    assert turn.state == "cancelled"


def test_interrupt_ends_turn_wait_and_cancels_the_turn(start: Start) -> None:
    """``turn.wait()`` raises KeyboardInterrupt."""
    turn = start().prompt("/slow 100000 1")
    interrupter = threading.Thread(target=interrupt_who_waits)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        turn.wait(PATIENCE)
    interrupter.join()
    assert turn.state == "cancelled"


def test_waiting_restores_the_handler_and_keeps_an_ignored_signal() -> None:
    heard: list[int] = []

    def hear(number: int, _frame: FrameType | None) -> None:
        heard.append(number)

    signal.signal(signal.SIGINT, hear)
    with CountedInterrupts() as interrupts:
        interrupt()
    interrupt()
    assert (interrupts.count, heard) == (1, [signal.SIGINT])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with CountedInterrupts() as interrupts:
        interrupt()
    assert interrupts.count == 0
