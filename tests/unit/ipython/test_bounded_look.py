"""Inspecting a variable for `%agent … @name` ends in time, whatever the variable's own code does."""

from __future__ import annotations

from tests.unit.ipython.test_extension import tell

PROMPT = """
import signal
from concurrent.futures import ThreadPoolExecutor
from agentnb.ipython.config import Agentnb
from agentnb.ipython.prompt_command import PromptCommand
from agentnb.ipython.tabs import Tabs
class Hangs:
    def __repr__(self):
        try:
            while True: pass
        except BaseException:  # as users' code does
            while True: pass
class Interrupts:
    def __repr__(self):
        signal.raise_signal(signal.SIGINT)
        while True: pass
shell.user_ns.update(hangs=Hangs(), interrupts=Interrupts(), fine=5)
settings = Agentnb()
prompts = PromptCommand(shell, settings, Tabs(settings), set())
prompts.look_seconds = 0.1
prompts.run("/context @hangs", None)
prompts.look_seconds = 60
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    prompts.run("/context @interrupts", None)
except KeyboardInterrupt:
    print("interrupted")
with ThreadPoolExecutor(1) as thread:
    thread.submit(prompts.run, "/context @fine", None).result()
"""


def test_hanging_mention_is_attached_without_value_and_warns() -> None:
    """`%agent … @hangs` blocked the kernel until the user interrupted it, which still works."""
    printed, warnings = tell(PROMPT)
    assert any(line.startswith("hangs: Hangs. Its value is not shown: ") for line in printed)
    assert warnings.startswith("@hangs was attached without its value. Looking at the objects took too long")
    assert "interrupted" in printed
    assert "fine: int" in printed  # on another thread
