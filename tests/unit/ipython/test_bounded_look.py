"""Inspecting a variable ends in time, whatever the variable's own code does."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentnb.errors import UsageError
from agentnb.ipython.execution import look_in_time
from tests.unit.ipython.test_extension import tell
from tests.unit.kernel.shell_tools import Tools


def hang() -> None:
    """Loops until it is interrupted."""
    while True:
        pass


def hang_once_more() -> None:
    """Catches the first interrupt."""
    try:
        hang()
    except BaseException:  # noqa: BLE001 - as users' code does
        hang()


@pytest.mark.parametrize("look", [hang, hang_once_more, threading.Event().wait])
def test_inspection_that_hangs_is_interrupted_with_an_error(look: Callable[[], object]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(UsageError, match="Looking at the objects took too long and was interrupted"):
        look_in_time(Tools().shell, look, 0.05)
    assert signal.getsignal(signal.SIGINT) is before


def test_inspection_returns_its_result_and_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """On any thread; only the main thread gets signals and a time limit."""
    shell = Tools().shell

    def look() -> int:
        sys.stdout.write("seen")
        return 7

    assert look_in_time(shell, look) == 7
    assert capsys.readouterr().out == ""
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(look_in_time, shell, lambda: 8).result() == 8


def test_user_interrupt_raises_keyboard_interrupt() -> None:
    def look() -> Any:
        signal.raise_signal(signal.SIGINT)
        hang()

    with pytest.raises(KeyboardInterrupt):
        look_in_time(Tools().shell, look)


PROMPT = """
from agentnb.ipython.config import Agentnb
from agentnb.ipython.prompt_command import PromptCommand
from agentnb.ipython.tabs import Tabs
class Hangs:
    def __repr__(self):
        while True: pass
shell.user_ns["hangs"] = Hangs()
settings = Agentnb()
prompts = PromptCommand(shell, settings, Tabs(settings), set())
prompts.look_seconds = 0.1
prompts.run("/context @hangs", None)
"""


def test_hanging_mention_is_attached_without_value_and_warns() -> None:
    """`%agent … @hangs` blocked the kernel until the user interrupted it."""
    printed, warnings = tell(PROMPT)
    assert any(line.startswith("hangs: Hangs. Its value is not shown: ") for line in printed)
    assert warnings.startswith("@hangs was attached without its value. Looking at the objects took too long")
