"""A new kernel restores sessions of an earlier one from the log."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentnb import Session, Turn
from agentnb.agent.catalog import custom, find
from agentnb.errors import LogDamaged, LogUnavailable, SessionError, UnknownSession
from agentnb.host import Host
from agentnb.host.history.restore import KERNEL_ENDED, RUNS_ELSEWHERE, read_back, recorder_of, restore, spec_of
from agentnb.host.intents import carry_out, use_kernel
from agentnb.host.session_options import SessionOptions
from agentnb.ids import new_id
from agentnb.log.store import LogStore
from agentnb.server.client import DeliveryClient
from agentnb.state import (
    SessionIsArchivedChanged,
    SessionStatus,
    SessionTitleChanged,
    SystemNotificationResponsePart,
    encode,
)
from tests.conftest import ROOT
from tests.unit.api.conftest import AGENTS, PATIENCE
from tests.unit.host.conftest import CLIENT, uri_of

KEEPS = str(AGENTS / "keeps.py")
OTHER_KERNEL = """
import sys
from pathlib import Path
from agentnb.agent.catalog import find
from agentnb.api.session import Session, Turn
from agentnb.host import Host
host = Host(log=Path(sys.argv[1]))
session = Session(host.loop.call(lambda: host.open(find("eliza"), cwd=Path(sys.argv[2]))))
session.prompt("/say done before").wait(120)
running = session.prompt("/hang")
next(iter(running))
queued = session.prompt("and then?")
host.recorder.flush(30)
print(session.tab_id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log/sessions.db"


@pytest.fixture
def kernel(log: Path) -> Iterator[Callable[[], Host]]:
    """Makes hosts on one log; stops all of them."""
    hosts: list[Host] = []

    def make() -> Host:
        hosts.append(Host(log=log))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def begin(host: Host, cwd: Path, script: str | None = None) -> Session:
    spec = find("eliza") if script is None else custom([sys.executable, str(AGENTS / f"{script}.py")], name="scripted")
    return Session(host.loop.call(lambda: host.open(spec, cwd=cwd)))


def take_up(host: Host, tab_id: str) -> Session:
    stored = read_back(recorder_of(host), tab_id)
    return Session(
        host.loop.call(lambda: restore(host, stored, SessionOptions(spec=spec_of(stored.record), cwd=Path())))
    )


def test_restored_session_equals_the_original(kernel: Callable[[], Host], tmp_path: Path) -> None:
    first = kernel()
    session = begin(first, tmp_path)
    session.prompt("/think\n/say So it is.").wait(PATIENCE)
    session.prompt("Hello").wait(PATIENCE)
    first.close()
    again = take_up(kernel(), session.tab_id[:8])
    assert encode(again.chat) == encode(session.chat)
    assert again.title == session.title
    assert [turn.state for turn in again.turns] == ["complete", "complete"]


def test_restored_session_asks_again_instead_of_allow(kernel: Callable[[], Host], tmp_path: Path) -> None:
    """Unless the user opens it otherwise; the state has the mode."""
    first = kernel()
    session = begin(first, tmp_path)
    session.permissions = "allow"
    session.prompt("Hello").wait(PATIENCE)
    first.close()
    again = take_up(kernel(), session.tab_id)
    assert again.state.config is not None
    assert (again.permissions, again.state.config.values) == ("ask", {"permissions": "ask", "freedom": "ask"})


@pytest.mark.parametrize(
    ("had", "wanted", "access"),
    [
        ("run", None, "run"),
        ("look", None, "look"),
        ("look", "run", "look"),
        ("run", "off", "off"),
        ("off", None, "off"),
        ("off", "run", "run"),
        (None, None, "off"),
        (None, "run", "run"),
    ],
)
def test_restored_conversation_keeps_its_kernel_access(
    kernel: Callable[[], Host], tmp_path: Path, had: Any, wanted: Any, access: str
) -> None:
    """A conversation without access gets it only if the user asks; the default for new ones does not apply."""
    first, tools = kernel(), had is not None
    spec = find("eliza")
    begun = first.loop.call(
        lambda: first.open_session(SessionOptions(spec=spec, cwd=tmp_path, kernel_tools=tools), tab_id=new_id())
    )
    if tools:
        first.loop.call(use_kernel, begun, had, None, "user")
    Session(begun).prompt("Hello").wait(PATIENCE)
    first.close()
    second = kernel()
    stored = read_back(recorder_of(second), begun.tab_id)
    options = SessionOptions(spec=spec, cwd=tmp_path, kernel_tools=True, kernel_access=wanted)
    again = second.loop.call(lambda: restore(second, stored, options))
    assert (again.channels.kernel_access, again.kernel is not None) == (access, True)


def test_restored_channel_continues_its_indexes(kernel: Callable[[], Host], tmp_path: Path) -> None:
    first = kernel()
    session = begin(first, tmp_path)
    session.prompt("/say x").wait(PATIENCE)
    index = first.channel(session.chat.resource).index
    first.close()
    second = kernel()
    again = take_up(second, session.tab_id)
    again.prompt("/say y").wait(PATIENCE)
    chat = second.channel(again.chat.resource)
    assert chat.index > index
    assert not chat.log.reaches(index - 1)
    assert chat.log.after(index)[0].index == index + 1


def test_flush_waits_for_entries_added_during_a_write(log: Path, kernel: Callable[[], Host], tmp_path: Path) -> None:
    """Another kernel holds the file: the flush waits for the running batch and the next one."""
    host = kernel()
    session = begin(host, tmp_path)
    uri = session.chat.resource.removesuffix("/chat")
    conversation, recorder = host.conversations[uri], recorder_of(host)

    def rename(title: str) -> None:
        conversation.dispatch(SessionTitleChanged(title=title))

    with contextlib.closing(sqlite3.connect(log, isolation_level=None)) as other, ThreadPoolExecutor(1) as threads:
        other.execute("BEGIN IMMEDIATE")
        host.loop.call(rename, "one")
        host.loop.call(recorder.closes, conversation)  # writes at once
        host.loop.call(rename, "two")
        flushed = threads.submit(recorder.flush, PATIENCE)
        host.loop.call(rename, "three")
        other.execute("ROLLBACK")
        assert flushed.result(PATIENCE)
    assert LogStore(log, "another").load(uri).session.title in {"two", "three"}


def test_restored_session_is_continued_and_stored_again(kernel: Callable[[], Host], tmp_path: Path) -> None:
    first = kernel()
    session = begin(first, tmp_path)
    session.prompt("/say one").wait(PATIENCE)
    first.close()
    second = kernel()
    again = take_up(second, session.tab_id)
    assert again.prompt("/say two").wait(PATIENCE).text == "two"
    second.close()
    third = take_up(kernel(), session.tab_id)
    assert [turn.text for turn in third.turns] == ["one", "two"]
    assert encode(third.chat) == encode(again.chat)


def test_turn_of_a_killed_kernel_has_failed_after_restore(
    log: Path, kernel: Callable[[], Host], tmp_path: Path
) -> None:
    """The running turn has failed; the queue still waits, and runs before the next prompt."""
    other = subprocess.Popen(
        [sys.executable, "-c", OTHER_KERNEL, str(log), str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None
    tab_id = other.stdout.readline().strip()
    host = kernel()
    reading = take_up(host, tab_id)
    with pytest.raises(SessionError, match="open in another kernel"):
        reading.prompt("and I?")
    assert [turn.state for turn in reading.turns] == ["complete", "error"]
    assert RUNS_ELSEWHERE in str(reading.chat.turns[-1])
    other.send_signal(signal.SIGKILL)
    other.communicate()
    session = take_up(host, tab_id)
    done, running = session.turns
    assert (done.text, done.state, running.state) == ("done before", "complete", "error")
    assert running.snapshot is not None
    assert KERNEL_ENDED in str(running.error)
    assert session.queue == ("and then?",)
    last = session.prompt("/say last").wait(PATIENCE)
    assert [turn.snapshot.message.text for turn in session.turns if turn.snapshot][-2:] == ["and then?", "/say last"]
    assert last.text == "last"


def test_agent_that_cannot_resume_gets_the_transcript_once(kernel: Callable[[], Host], tmp_path: Path) -> None:
    """A failed start and another restart lose nothing; one notice says so, and the user's choices stay."""
    first = kernel()
    session = begin(first, tmp_path, "keeps")
    session.prompt("first").wait(PATIENCE)
    first.close()
    program = tmp_path / "agent.py"
    spec = custom([sys.executable, str(program)], name="scripted")

    def again(host: Host) -> Session:
        stored = read_back(recorder_of(host), session.tab_id)
        return Session(host.loop.call(lambda: restore(host, stored, SessionOptions(spec=spec, cwd=Path()))))

    second = kernel()
    failed = again(second).prompt("second").wait(PATIENCE, check=False)
    assert (failed.state, str(program) in str(failed.error)) == ("error", True)
    second.close()
    program.write_text(f"import runpy, sys\nsys.path.insert(0, {str(AGENTS)!r})\nrunpy.run_path({KEEPS!r})\n")
    restored = again(kernel())
    turns = [restored.prompt(text).wait(PATIENCE) for text in ("third", "fourth")]
    requests = [json.loads(line)["params"] for line in turns[-1].text.splitlines() if '"session/prompt"' in line]
    assert [[len(each["prompt"]), each["prompt"][0]["text"]] for each in requests] == [[2, "third"], [1, "fourth"]]
    transcript = requests[0]["prompt"][1]["text"]
    assert [f"User: {text}" in transcript for text in ("first", "second", "third")] == [True, True, False]
    lines = [notes_of(turn) for turn in turns]
    assert lines == [["scripted restarted and was given the conversation so far."], []]


def notes_of(turn: Turn) -> list[str]:
    assert turn.snapshot is not None
    notes = [part for part in turn.snapshot.response_parts if isinstance(part, SystemNotificationResponsePart)]
    return [str(part.content) for part in notes]


def test_transcript_of_an_unknown_agent_can_be_read(kernel: Callable[[], Host], tmp_path: Path) -> None:
    first = kernel()
    session = begin(first, tmp_path, "echo")
    text = session.prompt("x").wait(PATIENCE).text
    first.close()
    again = take_up(kernel(), session.tab_id)
    assert again.turns[0].text == text
    failed = again.prompt("y").wait(PATIENCE, check=False)
    assert failed.state == "error"
    assert "scripted" in str(failed.error)


def test_restoring_an_open_session_returns_the_same_one(kernel: Callable[[], Host], tmp_path: Path) -> None:
    host = kernel()
    session = begin(host, tmp_path)
    session.prompt("/say x").wait(PATIENCE)
    again = take_up(host, session.tab_id)
    assert (len(host.conversations), again.chat is session.chat) == (1, True)
    again.prompt("/say y").wait(PATIENCE)
    assert [turn.text for turn in session.turns] == ["x", "y"]


def test_a_closed_session_can_be_opened_again(kernel: Callable[[], Host], tmp_path: Path) -> None:
    host = kernel()
    session = begin(host, tmp_path)
    session.prompt("/say x").wait(PATIENCE)
    session.close()
    assert [record.open for record in recorder_of(host).store.sessions()] == [False]
    assert take_up(host, session.tab_id).turns[0].text == "x"


def close_tab(host: Host, session: Session) -> None:
    """Closes the tab as the chat does: at first it can be undone."""
    host.loop.call(carry_out, host, uri_of(session), SessionIsArchivedChanged(is_archived=True), CLIENT)


def test_session_archived_by_closing_is_visible_when_reopened(kernel: Callable[[], Host], tmp_path: Path) -> None:
    """Closing archived its tab; opened again it is a tab, here and in a later kernel."""
    host = kernel()
    session = begin(host, tmp_path)
    session.prompt("/say x").wait(PATIENCE)
    close_tab(host, session)
    session.close()
    again = take_up(host, session.tab_id)
    assert again.state.status & SessionStatus.IS_ARCHIVED == 0
    close_tab(host, again)
    host.close()
    assert take_up(kernel(), session.tab_id).state.status & SessionStatus.IS_ARCHIVED == 0


def test_session_reopened_before_its_tab_closes_stays_open(kernel: Callable[[], Host], tmp_path: Path) -> None:
    """Opening the same conversation cancels its closing."""
    host = kernel()
    session = begin(host, tmp_path)
    session.prompt("/say x").wait(PATIENCE)
    close_tab(host, session)
    again = take_up(host, session.tab_id)
    assert (again.state is session.state, again.state.status & SessionStatus.IS_ARCHIVED) == (True, 0)
    close_tab(host, again)  # closes it again, but only once
    host.loop.call(carry_out, host, uri_of(again), SessionIsArchivedChanged(is_archived=False), CLIENT)
    assert again.prompt("/say y").wait(PATIENCE).text == "y"


def test_session_is_read_only_while_its_workspace_is_missing(
    log: Path, kernel: Callable[[], Host], tmp_path: Path
) -> None:
    first = kernel()
    (tmp_path / "work").mkdir()
    session = begin(first, tmp_path / "work")
    session.prompt("/say x").wait(PATIENCE)
    first.close()
    before = LogStore(log, "x").load(uri_of(session))
    (tmp_path / "work").rename(tmp_path / "elsewhere")
    host = kernel()
    reading = take_up(host, session.tab_id)
    assert [turn.text for turn in reading.turns] == ["x"]
    why = f"The workspace of '/say x' is gone: {tmp_path}/work. Restore the folder and resume the session again. "
    assert reading.read_only == f"{why}It can be read here, and `agentnb export {session.tab_id}` exports it."
    assert reading.state.agent_process is not None
    assert why in str(reading.state.agent_process.message)
    for go_on in (lambda: reading.prompt("y"), lambda: reading.open(PATIENCE)):
        with pytest.raises(SessionError, match="is gone"):
            go_on()
    recorder_of(host)
    assert LogStore(log, "x").load(uri_of(session)) == before
    (tmp_path / "elsewhere").rename(tmp_path / "work")
    again = take_up(host, session.tab_id)
    assert (again.read_only, reading.closed) == (None, True)
    assert again.prompt("/say y").wait(PATIENCE).text == "y"


TAKES_UP = """
import sys
from pathlib import Path
from agentnb import Session
from agentnb.errors import SessionError
from agentnb.host import Host
from agentnb.host.history.restore import read_back, recorder_of, restore, spec_of
from agentnb.host.session_options import SessionOptions
host = Host(log=Path(sys.argv[1]))
stored = read_back(recorder_of(host), sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
options = SessionOptions(spec=spec_of(stored.record), cwd=Path())
session = Session(host.loop.call(lambda: restore(host, stored, options)))
try:
    session.prompt("/say from " + sys.argv[3]).wait(120)
    host.recorder.flush(120)
    print("went on", flush=True)
except SessionError as error:
    print(error, flush=True)
sys.stdin.readline()
host.close()
"""


def test_only_one_of_two_kernels_can_continue_a_session(log: Path, kernel: Callable[[], Host], tmp_path: Path) -> None:
    first = kernel()
    session = begin(first, tmp_path)
    session.prompt("/say base").wait(PATIENCE)
    first.close()
    others = [
        subprocess.Popen(
            [sys.executable, "-c", TAKES_UP, str(log), session.tab_id, name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "AB"
    ]
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
    assert [turn.text for turn in take_up(kernel(), session.tab_id).turns] == ["base", f"from {winner}"]


def _lines(others: list[subprocess.Popen[str]]) -> list[str]:
    """Returns the next line of each."""
    return [other.stdout.readline().strip() for other in others if other.stdout]


def test_damaged_session_is_released_for_other_kernels(log: Path, kernel: Callable[[], Host], tmp_path: Path) -> None:
    first = kernel()
    session = begin(first, tmp_path)
    session.prompt("/say x").wait(PATIENCE)
    first.close()
    with sqlite3.connect(log) as connection:
        connection.execute("UPDATE snapshots SET checksum = 0")
    host = kernel()
    with pytest.raises(LogDamaged):
        take_up(host, session.tab_id)
    store = LogStore(log, "another")
    assert not store.held(store.sessions())
    assert store.claim(uri_of(session))


def test_damaged_session_shows_what_is_missing(log: Path, kernel: Callable[[], Host], tmp_path: Path) -> None:
    first = kernel()
    session = begin(first, tmp_path)
    session.prompt("/say x").wait(PATIENCE)
    recorder_of(first)
    session.prompt("/say y").wait(PATIENCE)
    first.close()
    whole = first.channel(session.chat.resource).index
    with sqlite3.connect(log) as connection:
        connection.execute("DELETE FROM entries WHERE channel LIKE '%/chat' AND at = ?", (whole - 1,))
    second = kernel()
    again = take_up(second, session.tab_id)
    assert "Something is missing here." in str(again.chat.turns[-1].response_parts[-1])
    page = DeliveryClient("page", visible=True, seen_at=0.0).subscribe(second.channel(again.chat.resource))
    assert isinstance(page, dict)
    assert str(page["gap"]) in str(again.chat.turns[-1].response_parts[-1])


def test_damaged_session_continues_without_lost_turns(log: Path, kernel: Callable[[], Host], tmp_path: Path) -> None:
    """Damage, restore, prompt, restore: no old turn returns, and the note about the gap stays."""
    first = kernel()
    session = begin(first, tmp_path)
    for number in range(4):
        session.prompt(f"/say old {number}").wait(PATIENCE)
        recorder_of(first)
    first.close()
    with sqlite3.connect(log) as connection:
        rows = connection.execute("SELECT at, envelope FROM entries WHERE channel LIKE '%/chat' ORDER BY at").fetchall()
        at = next(at for at, envelope in rows if b"old 1" in envelope)
        connection.execute("UPDATE entries SET checksum = 0 WHERE channel LIKE '%/chat' AND at = ?", (at,))
    second = kernel()
    again = take_up(second, session.tab_id)
    gap = again.gap
    again.prompt("/say BRANDNEW").wait(PATIENCE)
    second.close()
    last = take_up(kernel(), session.tab_id)
    assert [turn.snapshot.message.text for turn in last.turns if turn.snapshot] == ["/say old 0", "/say BRANDNEW"]
    assert last.gap == gap is not None
    assert str(encode(last.chat)).count("Something is missing here.") == 1


def test_unknown_or_ambiguous_session_id_is_an_error(kernel: Callable[[], Host], tmp_path: Path) -> None:
    host = kernel()
    with pytest.raises(UnknownSession, match="no session whose id begins with 'zzz'"):
        take_up(host, "zzz")
    for digit in "12":
        tab = f"aa{digit}11111-2222-4333-8444-555555555555"
        conversation = host.loop.call(lambda tab=tab: host.open(find("eliza"), cwd=tmp_path, tab_id=tab))
        Session(conversation).prompt("/say x").wait(PATIENCE)
    with pytest.raises(UnknownSession, match="several sessions"):
        take_up(host, "aa")


def test_restoring_without_a_log_is_an_error() -> None:
    host = Host()
    try:
        with pytest.raises(LogUnavailable, match="AGENTNB_LOG"):
            recorder_of(host)
    finally:
        host.close()


def test_session_works_when_the_log_cannot_be_written(tmp_path: Path) -> None:
    """One notice says so; the turn works as usual."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    host = Host(log=tmp_path / "file/sessions.db")
    try:
        session = begin(host, tmp_path)
        assert session.prompt("/say x").wait(PATIENCE).text == "x"
        assert host.recorder is not None
        host.recorder.flush(PATIENCE)
        host.loop.call(lambda: None)
        assert "cannot be used" in str(host.recorder.trouble)
    finally:
        host.close()
