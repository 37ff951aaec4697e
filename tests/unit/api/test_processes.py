"""Forks, threads and references: a session belongs to one process, is thread-safe, and leaks nothing."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentnb import Session
from tests.unit.api.conftest import PATIENCE

Start = Callable[..., Session]
LOOKS = 4_000

FORKED = """
import asyncio, os, sys
import agentnb

async def following(turn):
    async for _ in turn:
        pass

session = agentnb.start("eliza")
done = session.prompt("/say parent").wait(120)
print(done.text, flush=True)
running = session.prompt("/hang")
next(iter(running))
pid = os.fork()
if not pid:
    try:
        session.prompt("/say old")
    except agentnb.AgentnbError as error:
        print(type(error).__name__, error.hint, flush=True)
    for wait in (running.wait, lambda: list(running), lambda: asyncio.run(following(running))):
        try:
            wait()
        except agentnb.AgentnbError as error:
            print(type(error).__name__, flush=True)
    print(done.wait().text, *done, flush=True)
    other = agentnb.start("eliza")
    print(other.prompt("/say child").wait(120).text, flush=True)
    sys.exit()  # with the parent's atexit functions, as os.fork leaves them
assert os.waitpid(pid, 0)[1] == 0
running.cancel()
print(session.prompt("/say still here").wait(120).text)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_process_cannot_use_the_sessions_of_its_parent(tmp_path: Path) -> None:
    """In the fork, the parent's session and running turn raise at once."""
    command = [sys.executable, "-c", FORKED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout.splitlines() == [
        "parent",
        "UsageError Start another one here with agentnb.start().",
        *["UsageError"] * 3,
        "parent parent",
        "child",
        "still here",
    ], done.stderr


def test_session_answers_prompts_from_many_threads(start: Start) -> None:
    """The prompts queue; none is lost or mixed up."""
    session = start()
    with ThreadPoolExecutor(8) as threads:
        texts = [*threads.map(lambda n: session.prompt(f"/say {n}").wait(PATIENCE).text, range(16))]
    assert texts == [str(n) for n in range(16)]


def test_reading_a_running_turn_repeatedly_keeps_no_memory(start: Start) -> None:
    """Every look returns the same turn."""
    session = start()
    turn = session.prompt("/hang")
    next(iter(turn))
    assert {id(seen) for _ in range(50) for seen in session.turns} == {id(turn)}
    tracemalloc.start()
    for _ in range(LOOKS):
        session.turns  # noqa: B018 - looking is what is tested
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < LOOKS * 32, f"{LOOKS} looks keep {kept} bytes"
    turn.cancel()


def test_session_does_not_hold_a_finished_turn(start: Start) -> None:
    """Only its reader holds it; the transcript has its text."""
    session = start()
    seen = weakref.ref(session.prompt("/say gone").wait(PATIENCE))
    session.prompt("/say next").wait(PATIENCE)  # by now the host's thread has left the turn's last callback
    gc.collect()
    assert (seen(), session.turns[0].text) == (None, "gone")
