"""A new kernel restores sessions of an earlier one from the log."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session
from agentnb.errors import LogDamaged, LogUnavailable, SessionError, UnknownSession
from agentnb.state import (
    SessionConfigChanged,
    SessionIsArchivedChanged,
    SessionStatus,
    SessionTitleChanged,
    encode,
)
from tests.conftest import ROOT
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import NewKernel, notices
from tests.unit.host.kernels import Kernel

IS_KILLED = """
import agentnb, sys
session = agentnb.start("eliza")
session.prompt("/say done before").wait(120)
running = session.prompt("/hang")
next(iter(running))
queued = session.prompt("and then?")
agentnb.history()  # writes the log
print(session.tab_id, flush=True)
sys.stdin.read()
"""
TAKES_UP = """
import agentnb, sys
agentnb.history()
print("ready", flush=True)
sys.stdin.readline()
try:
    agentnb.resume(sys.argv[1]).prompt("/say from " + sys.argv[2]).wait(120)
    agentnb.history()
    print("went on", flush=True)
except agentnb.SessionError as error:
    print(error, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log/sessions.db"


@contextlib.contextmanager
def sql(log: Path) -> Iterator[sqlite3.Connection]:
    """Opens the log's file as another program does."""
    with contextlib.closing(sqlite3.connect(log)) as connection, connection:
        yield connection


def run_elsewhere(script: str, *words: str, log: Path, folder: Path) -> subprocess.Popen[str]:
    """Runs *script* in another process with this log."""
    env = {**os.environ, "AGENTNB_LOG": str(log), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script, *words]
    return subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def texts(session: Session) -> list[str]:
    return [turn.text for turn in session.turns]


def prompts(session: Session) -> list[str]:
    return [turn.snapshot.message.text for turn in session.turns if turn.snapshot]


def test_restored_session_equals_the_original(new_kernel: NewKernel) -> None:
    """It is continued and stored again."""
    first = new_kernel()
    session = first.start()
    session.prompt("/think\n/say So it is.").wait(PATIENCE)
    session.prompt("Hello").wait(PATIENCE)
    before = texts(session)
    first.close()
    second = new_kernel()
    again = second.resume(session.tab_id[:8])
    assert encode(again.chat) == encode(session.chat)
    assert (again.title, [turn.state for turn in again.turns]) == (session.title, ["complete", "complete"])
    assert again.prompt("/say two").wait(PATIENCE).text == "two"
    second.close()
    third = new_kernel().resume(session)
    assert texts(third) == [*before, "two"]
    assert encode(third.chat) == encode(again.chat)


def test_restored_conversation_keeps_its_kernel_access(new_kernel: NewKernel) -> None:
    """A conversation without access gets it only if the user asks; the default for new ones does not apply."""
    first = new_kernel()
    cases: list[tuple[Any, Any, str, Session]] = []
    for had, wanted, access in (
        ("run", None, "run"),
        ("look", None, "look"),
        ("look", "run", "look"),
        ("run", "off", "off"),
        ("off", None, "off"),
        ("off", "run", "run"),
        (None, None, "off"),
        (None, "run", "run"),
    ):
        session = first.start(kernel_tools=had is not None)
        if had is not None:
            first.act(session, SessionConfigChanged(config={"kernel": had}))
        session.prompt("Hello").wait(PATIENCE)
        cases.append((had, wanted, access, session))
    first.close()
    second = new_kernel()
    for had, wanted, access, session in cases:
        config = second.resume(session, kernel_tools=True, kernel_access=wanted).state.config
        assert config is not None
        assert config.values["kernel"] == access, (had, wanted)


def test_flush_waits_for_entries_added_during_a_write(log: Path, new_kernel: NewKernel) -> None:
    """Another kernel holds the file: the flush waits for the running batch and the next one."""
    kernel = new_kernel()
    session = kernel.start()
    session.prompt("/say x").wait(PATIENCE)
    kernel.flush()
    with contextlib.closing(sqlite3.connect(log, isolation_level=None)) as other, ThreadPoolExecutor(2) as threads:
        other.execute("BEGIN IMMEDIATE")
        kernel.act(session, SessionTitleChanged(title="one"))
        threads.submit(kernel.flush)
        kernel.act(session, SessionTitleChanged(title="two"))
        flushed = threads.submit(kernel.flush)
        kernel.act(session, SessionTitleChanged(title="three"))
        other.execute("ROLLBACK")
        flushed.result(PATIENCE)
    with sql(log) as connection:
        assert connection.execute("SELECT title FROM sessions").fetchall()[0][0] in {"two", "three"}


def test_turn_of_a_killed_kernel_has_failed_after_restore(log: Path, new_kernel: NewKernel, tmp_path: Path) -> None:
    """The running turn has failed; the queue still waits, and runs before the next prompt."""
    other = run_elsewhere(IS_KILLED, log=log, folder=tmp_path)
    assert other.stdout is not None
    tab_id = other.stdout.readline().strip()
    kernel = new_kernel()
    reading = kernel.resume(tab_id)
    with pytest.raises(SessionError, match="open in another kernel"):
        reading.prompt("and I?")
    assert [turn.state for turn in reading.turns] == ["complete", "error"]
    assert "This turn is still running in another kernel." in str(reading.chat.turns[-1])
    other.send_signal(signal.SIGKILL)
    other.communicate()
    session = kernel.resume(tab_id)
    done, running = session.turns
    assert (done.text, done.state, running.state) == ("done before", "complete", "error")
    assert "The kernel ended while this turn ran." in str(running.error)
    assert session.queue == ("and then?",)
    last = session.prompt("/say last").wait(PATIENCE)
    assert (prompts(session)[-2:], last.text) == (["and then?", "/say last"], "last")


def test_agent_that_cannot_resume_gets_the_transcript_once(new_kernel: NewKernel, tmp_path: Path) -> None:
    """A failed start and another restart lose nothing; one notice says so, and the user's choices stay."""
    first = new_kernel()
    session = first.start("keeps")
    session.prompt("first").wait(PATIENCE)
    first.close()
    program = tmp_path / "agent.py"
    command = [sys.executable, str(program)]
    second = new_kernel()
    failed = second.resume(session, command=command).prompt("second").wait(PATIENCE, check=False)
    assert (failed.state, str(program) in str(failed.error)) == ("error", True)
    second.close()
    keeps = str(AGENTS / "keeps.py")
    program.write_text(f"import runpy, sys\nsys.path.insert(0, {str(AGENTS)!r})\nrunpy.run_path({keeps!r})\n")
    restored = new_kernel().resume(session, command=command)
    turns = [restored.prompt(text).wait(PATIENCE) for text in ("third", "fourth")]
    requests = [json.loads(line)["params"] for line in turns[-1].text.splitlines() if '"session/prompt"' in line]
    assert [[len(each["prompt"]), each["prompt"][0]["text"]] for each in requests] == [[2, "third"], [1, "fourth"]]
    transcript = requests[0]["prompt"][1]["text"]
    assert [f"User: {text}" in transcript for text in ("first", "second", "third")] == [True, True, False]
    assert notices(restored) == ["keeps restarted and was given the conversation so far."]


def close_tab(kernel: Kernel, session: Session) -> None:
    """Closes the tab as the chat does: at first it can be undone."""
    kernel.act(session, SessionIsArchivedChanged(is_archived=True))


def test_session_archived_by_closing_is_visible_when_reopened(new_kernel: NewKernel) -> None:
    """Closing archived its tab; opened again it is a tab, here and in a later kernel."""
    kernel = new_kernel()
    session = kernel.start()
    session.prompt("/say x").wait(PATIENCE)
    close_tab(kernel, session)
    session.close()
    again = kernel.resume(session)
    assert (texts(again), again.state.status & SessionStatus.IS_ARCHIVED) == (["x"], 0)
    close_tab(kernel, again)
    kernel.close()
    assert new_kernel().resume(session).state.status & SessionStatus.IS_ARCHIVED == 0


def test_session_reopened_before_its_tab_closes_stays_open(new_kernel: NewKernel) -> None:
    """Opening the same conversation gives the same one, and cancels its closing."""
    kernel = new_kernel()
    session = kernel.start()
    session.prompt("/say x").wait(PATIENCE)
    assert kernel.resume(session).chat is session.chat
    close_tab(kernel, session)
    again = kernel.resume(session)
    assert len(kernel.open_sessions) == 1
    assert (again.state is session.state, again.state.status & SessionStatus.IS_ARCHIVED) == (True, 0)
    close_tab(kernel, again)  # closes it again, but only once
    kernel.act(again, SessionIsArchivedChanged(is_archived=False))
    assert again.prompt("/say y").wait(PATIENCE).text == "y"


def test_session_is_read_only_while_its_workspace_is_missing(new_kernel: NewKernel, tmp_path: Path) -> None:
    """The log stays as it is."""
    first = new_kernel()
    (tmp_path / "work").mkdir()
    session = first.start(folder=tmp_path / "work")
    session.prompt("/say x").wait(PATIENCE)
    first.close()
    (tmp_path / "work").rename(tmp_path / "elsewhere")
    kernel = new_kernel()
    before = kernel.ask("listSessions")
    reading = kernel.resume(session)
    assert texts(reading) == ["x"]
    why = f"The workspace of '/say x' is gone: {tmp_path}/work. Restore the folder and resume the session again. "
    assert reading.read_only == f"{why}It can be read here, and `agentnb export {session.tab_id}` exports it."
    assert reading.state.agent_process is not None
    assert why in str(reading.state.agent_process.message)
    for go_on in (lambda: reading.prompt("y"), lambda: reading.open(PATIENCE)):
        with pytest.raises(SessionError, match="is gone"):
            go_on()
    kernel.flush()
    assert kernel.ask("listSessions") == before
    (tmp_path / "elsewhere").rename(tmp_path / "work")
    again = kernel.resume(session)
    assert (again.read_only, reading.closed) == (None, True)
    assert again.prompt("/say y").wait(PATIENCE).text == "y"


def test_only_one_of_two_kernels_can_continue_a_session(log: Path, new_kernel: NewKernel, tmp_path: Path) -> None:
    first = new_kernel()
    session = first.start()
    session.prompt("/say base").wait(PATIENCE)
    first.close()
    others = [run_elsewhere(TAKES_UP, session.tab_id, name, log=log, folder=tmp_path) for name in "AB"]
    assert _lines(others) == ["ready"] * 2
    for other in others:
        assert other.stdin
        other.stdin.write("\n")
        other.stdin.flush()
    answers = _lines(others)
    assert sorted("open in another kernel" in word for word in answers) == [False, True]
    for other in others:
        other.communicate("\n", timeout=PATIENCE)
    winner = "AB"[answers.index("went on")]
    assert texts(new_kernel().resume(session)) == ["base", f"from {winner}"]


def _lines(others: list[subprocess.Popen[str]]) -> list[str]:
    """Returns the next line of each."""
    return [other.stdout.readline().strip() for other in others if other.stdout]


def test_damaged_session_is_released_for_other_kernels(log: Path, new_kernel: NewKernel) -> None:
    first = new_kernel()
    session = first.start()
    session.prompt("/say x").wait(PATIENCE)
    first.close()
    with sql(log) as connection:
        connection.execute("UPDATE snapshots SET checksum = 0")
    kernel = new_kernel()
    with pytest.raises(LogDamaged):
        kernel.resume(session)
    assert list(new_kernel().ask("listSessions")["elsewhere"]) == []


def test_damaged_session_continues_without_lost_turns(log: Path, new_kernel: NewKernel) -> None:
    """Damage, restore, prompt, restore: no old turn returns, and the note about the gap stays."""
    first = new_kernel()
    session = first.start()
    for number in range(4):
        session.prompt(f"/say old {number}").wait(PATIENCE)
        first.flush()
    first.close()
    with sql(log) as connection:
        rows = connection.execute("SELECT at, envelope FROM entries WHERE channel LIKE '%/chat' ORDER BY at").fetchall()
        at = next(at for at, envelope in rows if b"old 1" in envelope)
        connection.execute("UPDATE entries SET checksum = 0 WHERE channel LIKE '%/chat' AND at = ?", (at,))
    second = new_kernel()
    again = second.resume(session)
    gap = again.gap
    again.prompt("/say BRANDNEW").wait(PATIENCE)
    second.close()
    last = new_kernel().resume(session)
    assert prompts(last) == ["/say old 0", "/say BRANDNEW"]
    assert last.gap == gap is not None
    assert str(encode(last.chat)).count("Something is missing here.") == 1


def test_unknown_or_ambiguous_session_id_is_an_error(new_kernel: NewKernel, kernel: Kernel) -> None:
    """So is one without a log."""
    logged = new_kernel()
    with pytest.raises(UnknownSession, match="no session whose id begins with 'zzz'"):
        logged.resume("zzz")
    for digit in "12":
        logged.start(tab_id=f"aa{digit}11111-2222-4333-8444-555555555555").prompt("/say x").wait(PATIENCE)
    with pytest.raises(UnknownSession, match="several sessions"):
        logged.resume("aa")
    with pytest.raises(LogUnavailable, match="AGENTNB_LOG"):
        kernel.resume("aa")


def test_session_works_when_the_log_cannot_be_written(new_kernel: NewKernel, tmp_path: Path) -> None:
    """One notice says so; the turn works as usual."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    kernel = new_kernel(log=tmp_path / "file/sessions.db")
    session = kernel.start()
    assert session.prompt("/say x").wait(PATIENCE).text == "x"
    kernel.flush()
    assert "cannot be used" in str(kernel.log_trouble)
