"""Inspection of the user's objects: on the main thread, bounded, whatever their own code does."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentnb.errors import KernelBusy
from tests.unit.kernel.shell_tools import OWNER, Tools

LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "variables": ("variables", {}),
    "inspect": ("inspect", {"path": "thing"}),
    "inspect a property": ("inspect", {"path": "thing.shape"}),
    "inspect an item": ("inspect", {"path": "thing[0]"}),
}


class Thing:
    """Its own code runs whenever it is inspected."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act

    def __repr__(self) -> str:
        self._act()
        return "a thing"

    def __len__(self) -> int:
        self._act()
        return 3

    def __getitem__(self, at: int) -> Any:
        self._act()
        return at

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._act()


@pytest.mark.parametrize("look", LOOKS)
def test_inspection_runs_on_the_main_thread_and_prints_nothing(
    tools: Tools, look: str, capsys: pytest.CaptureFixture[str]
) -> None:
    threads = set()
    tools.shell.user_ns["thing"] = Thing(lambda: threads.add((threading.current_thread(), sys.stdout.write("noise"))))
    name, arguments = LOOKS[look]
    tools.call(name, **arguments)
    assert {thread for thread, _ in threads} == {threading.main_thread()}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, RecursionError])
@pytest.mark.parametrize("look", LOOKS)
def test_inspection_reports_an_object_that_raises(tools: Tools, look: str, error: type[BaseException]) -> None:
    def fail() -> None:
        raise error("on purpose")

    tools.shell.user_ns["thing"] = Thing(fail)
    name, arguments = LOOKS[look]
    assert error.__name__ in tools.text(name, **arguments)
    assert tools.text("run_code", code="1 + 1") == "2"


def hang() -> None:
    """Loops until it is interrupted."""
    while True:
        pass


@pytest.mark.parametrize("act", [hang, threading.Event().wait], ids=["runs", "waits"])
def test_slow_inspection_is_interrupted(tools: Tools, act: Callable[[], Any]) -> None:
    before = signal.getsignal(signal.SIGINT)
    tools.shell.user_ns["thing"] = Thing(act)
    tools.tool_runner.tab.look_seconds = 0.1
    text = tools.text("inspect", path="thing")
    assert text.startswith("Looking at the objects took too long and was interrupted.")
    assert signal.getsignal(signal.SIGINT) is before
    assert tools.text("run_code", code="1 + 1") == "2"


TAKEN = """
import signal
before, got = signal.signal(signal.SIGINT, lambda *_: got.append(1)), []
while not got: pass
"""
BLOCKED = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
while signal.SIGINT not in signal.sigpending(): pass
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal masks, and no time limit for code")
@pytest.mark.parametrize("code", [TAKEN, BLOCKED], ids=["taken", "blocked"])
def test_code_that_blocks_the_interrupt_does_not_hang_the_kernel(tools: Tools, code: str) -> None:
    """It has its own handler, or blocks the signal: nobody waits for the interrupt forever or gets it later."""
    before = signal.getsignal(signal.SIGINT)
    try:
        tools.call("run_code", code=code, timeout=0.1)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGINT, before)
    assert tools.text("run_code", code="1 + 1") == "2"


def test_system_exit_in_a_job_does_not_end_the_host_thread(tools: Tools) -> None:
    class Exits:
        def begin(self, done: Callable[[None], None], *, loop_is_free: bool) -> None:
            raise SystemExit(3)

        def stop(self, why: str) -> None:
            pass

    with pytest.raises(KernelBusy, match="The code ended with SystemExit"):
        tools.during(tools.job_queue.run(Exits(), OWNER, patience=30))
    assert tools.text("run_code", code="1 + 1") == "2"
