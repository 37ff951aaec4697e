"""The inside: the durable log survives a kill at any moment, a bad disk, other kernels and a damaged file."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentnb import __version__
from agentnb.errors import LogDamaged, LogUnavailable, UnknownSession
from agentnb.log import database
from agentnb.log.location import BATCHES_NAME
from agentnb.log.store import LogStore
from agentnb.plugins.map.records import BatchRows
from agentnb.state import (
    ChatDelta,
    ChatResponsePart,
    ChatTurnStarted,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    SessionTitleChanged,
    encode,
)
from tests.conftest import ROOT
from tests.thorough import examples
from tests.unit.api.conftest import PATIENCE
from tests.unit.log.kernel import CHAT, URI, Kernel


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data/sessions.db"


# --- what is written is read back ---


@settings(max_examples=examples(60))
@given(steps=st.lists(st.sampled_from(["say", "write", "snapshot", "turn"]), min_size=1, max_size=30))
def test_loaded_session_equals_the_live_state(steps: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    kernel = Kernel(tmp_path_factory.mktemp("log") / "sessions.db")
    kernel.turn("a", "b")
    kernel.does(ChatTurnStarted(turn_id="t", message=Message(text="x", origin=MessageOrigin(kind="user"))))
    kernel.does(ChatResponsePart(turn_id="t", part=MarkdownResponsePart(id="p", content="")))
    for number, step in enumerate([*steps, "write"]):
        if step == "say":
            kernel.does(ChatDelta(turn_id="t", part_id="p", content=f"{number}☃"))
        elif step == "snapshot":
            kernel.snapshot()
        elif step == "turn":
            kernel.does(ChatResponsePart(turn_id="t", part=MarkdownResponsePart(id=f"p{number}", content="")))
        else:
            kernel.writes()
            assert encode(kernel.store.load(URI).chat) == encode(kernel.state)


# --- listing ---


def test_sessions_are_listed_by_place_and_folder_latest_first(path: Path) -> None:
    for number in range(3):
        kernel = Kernel(path, uri=f"eliza:/{number}", place="a.ipynb" if number else "b.ipynb")
        kernel.record = replace(kernel.record, modified_at=number, cwd=f"/w{number % 2}")
        kernel.turn("a", "b")
        kernel.writes()
    store = LogStore(path, "host")
    listed = store.sessions
    assert [record.uri for record in listed()] == ["eliza:/2", "eliza:/1", "eliza:/0"]
    assert [record.uri for record in listed(place="a.ipynb")] == ["eliza:/2", "eliza:/1"]
    assert [record.uri for record in listed(cwd="/w0")] == ["eliza:/2", "eliza:/0"]
    assert [record.uri for record in listed(limit=1, offset=1)] == ["eliza:/1"]
    assert [record.uri for record in store.named("1")] == ["eliza:/1"]
    assert store.named("") == []


def test_log_without_turns_is_empty(path: Path) -> None:
    """A log that was never written, and one with a session that has no turn yet."""
    store = LogStore(path, "host")
    assert store.sessions() == []
    with pytest.raises(UnknownSession, match=r"agentnb\.history"):
        store.load(URI)
    assert not path.exists()
    kernel = Kernel(path)
    kernel.does(SessionTitleChanged(title="x"))
    kernel.writes()
    assert kernel.store.sessions() == []


# --- kill -9 ---


@pytest.mark.parametrize("lines", [1, 4, 9])
def test_flushed_entries_survive_a_kill(path: Path, lines: int) -> None:
    """At any moment: right after a batch, or during the next."""
    kernel = subprocess.Popen(
        [sys.executable, "-m", "tests.unit.log.streaming_kernel", str(path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert kernel.stdout is not None
    written = [int(kernel.stdout.readline()) for _ in range(lines)][-1]
    kernel.send_signal(signal.SIGKILL)
    later = kernel.stdout.read().split()
    kernel.wait()
    kernel.stdout.close()
    read = LogStore(path, "another").load(URI)
    assert read.chat_index >= max([written, *map(int, later)])
    assert read.gap is None
    assert read.chat.active_turn is not None
    part = read.chat.active_turn.response_parts[0]
    assert isinstance(part, MarkdownResponsePart)
    assert part.content == "".join(f"{number} " for number in range(2, read.chat_index))
    with database.connect(path) as connection:
        database.check(connection, path)


# --- damage ---


def test_damaged_log_that_cannot_be_moved_aside_is_reported(tmp_path: Path) -> None:
    path = tmp_path / ("s" * 250)  # near the longest possible name: with "damaged" it is too long
    path.write_bytes(b"not a database at all, " * 100)
    kernel = Kernel(path)
    kernel.turn("a", "b")
    kernel.writes()
    assert [type(trouble) for trouble in kernel.trouble] == [LogUnavailable]
    assert "It cannot be moved aside" in str(kernel.trouble[0])
    kernel.turn("c", "d")
    kernel.writes()
    assert len(kernel.trouble) == 2  # the writer still runs


def rot(path: Path) -> None:
    """Writes rubbish into the file on disk."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(os.urandom(4096 * 9))


BEFORE = """
import sys
from pathlib import Path
from tests.unit.log.kernel import SESSION, Kernel
kernel = Kernel(Path(sys.argv[1]), "before", uri="eliza:/before")
for _ in range(50):
    kernel.turn("why" * 50, "because " * 20)
    kernel.writes()
print("open", flush=True)
sys.stdin.readline()
kernel.turn("later", "b")
kernel.writes()
assert "while this kernel had it open" in str(kernel.trouble), kernel.trouble
kernel.snapshot()
kernel.batch.snapshots["eliza:/before"] = (0, SESSION)
kernel.writes()
assert len(kernel.trouble) == 1, kernel.trouble
assert kernel.store.load("eliza:/before").chat == kernel.state
"""


@pytest.mark.parametrize("noticed", [True, False])
def test_kernel_does_not_move_aside_another_kernels_new_log(path: Path, noticed: bool) -> None:
    """One kernel has the file open while another finds it damaged and starts a new one; both use the new one."""
    before = subprocess.Popen(
        [sys.executable, "-c", BEFORE, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert before.stdout is not None
    before.stdout.readline()
    if noticed:
        rot(path)
        finder = Kernel(path, "finder")
        finder.turn("a", "b")
        finder.writes()
        assert [type(error) for error in finder.trouble] == [LogDamaged]
    else:
        database.put_aside(path, database.file_at(path))
    other = Kernel(path, "other")
    other.turn("a", "b")
    other.writes()
    before.communicate("\n", timeout=PATIENCE)
    assert before.returncode == 0
    assert len(list(path.parent.glob("*.damaged-*[0-9]"))) == 1
    later = LogStore(path, "x")
    assert [len(later.load(uri).chat.turns) for uri in ("eliza:/before", URI)] == [51, 1]


@pytest.mark.parametrize(
    "damage",
    ["UPDATE entries SET envelope = replace(envelope, 't1', 'tX') WHERE at = 5", "DELETE FROM entries WHERE at = 5"],
)
def test_session_ends_at_a_damaged_or_missing_entry(path: Path, damage: str) -> None:
    kernel = Kernel(path)
    kernel.turn("a", "b")
    whole = kernel.state
    kernel.writes()
    kernel.turn("c", "d")
    kernel.writes()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    read = kernel.store.load(URI)
    assert encode(read.chat) == encode(whole)
    assert read.gap == f"What came after entry 4 of {CHAT} is damaged in the log."


def test_damaged_snapshot_error_names_the_session(path: Path) -> None:
    kernel = Kernel(path)
    kernel.turn("a", "b")
    kernel.writes()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE snapshots SET state = x'7b7d' WHERE channel = ?", (CHAT,))
    with pytest.raises(LogDamaged, match=f"{URI} cannot be read"):
        kernel.store.load(URI)


# --- versions ---


@pytest.mark.parametrize(("version", "named"), [("9.1", "agentnb 9.1 or later"), (b"x", "a newer agentnb")])
def test_log_of_a_newer_agentnb_is_not_used_and_names_it(path: Path, version: object, named: str) -> None:
    """Each agentnb leaves a row that names the oldest one that reads the log."""
    Kernel(path).writes()
    newer = len(database.MIGRATIONS) + 1
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = connection.execute("SELECT * FROM readers").fetchall()
        connection.execute("INSERT INTO readers VALUES (?, ?)", (newer, version))
        connection.execute(f"PRAGMA user_version = {newer}")
    assert rows == [(len(database.MIGRATIONS), database.OLDEST_READER)]
    kernel = Kernel(path)
    kernel.turn("a", "b")
    kernel.writes()
    assert [type(error) for error in kernel.trouble] == [LogUnavailable]
    with pytest.raises(LogUnavailable, match=f"It can be read by {named}; this is agentnb {__version__}.*Update"):
        kernel.store.sessions()


def test_every_old_log_version_is_migrated(path: Path) -> None:
    """Tests each migration, from an empty file on."""
    for version in range(len(database.MIGRATIONS)):
        old = path.with_name(f"v{version}.db")
        old.parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(old)) as connection, connection:
            for script in database.MIGRATIONS[:version]:
                connection.executescript(script)
            connection.execute(f"PRAGMA user_version = {version}")
        kernel = Kernel(old)
        kernel.turn("a", "b")
        kernel.writes()
        assert kernel.trouble == []
        assert len(kernel.store.sessions()) == 1


# --- a disk that does not take it, several kernels ---


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.unit.log.kernel import Kernel
kernel = Kernel(Path(sys.argv[1]))
kernel.turn("a", "b")
kernel.writes()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 10**9))
kernel.turn("c", "d" * 400_000, step=1_000)
kernel.writes()
print([str(error) for error in kernel.trouble])
resource.setrlimit(resource.RLIMIT_FSIZE, (10**9, 10**9))
kernel.snapshot()
kernel.writes()
assert len(kernel.trouble) == 1, kernel.trouble
assert kernel.store.load(kernel.record.uri).chat == kernel.state
"""


def test_full_disk_is_reported_and_logging_resumes_with_space(path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "Free space" in run.stdout


MANY = """
import sys
from pathlib import Path
from tests.unit.log.kernel import Kernel
kernel = Kernel(Path(sys.argv[1]), host_id=sys.argv[2], uri="eliza:/" + sys.argv[2])
for number in range(40):
    kernel.turn(f"prompt {number}", "answer")
    kernel.writes()
assert kernel.trouble == [], kernel.trouble
assert kernel.store.load(kernel.record.uri).chat == kernel.state
"""


def test_kernels_that_write_at_once_share_the_log(path: Path) -> None:
    kernels = [
        subprocess.Popen([sys.executable, "-c", MANY, str(path), f"k{number}"], cwd=ROOT, stderr=subprocess.PIPE)
        for number in range(4)
    ]
    for kernel in kernels:
        _, errors = kernel.communicate(timeout=120)
        assert kernel.returncode == 0, errors.decode()
    listed = LogStore(path, "x").sessions()
    assert sorted((record.uri, record.turns) for record in listed) == [(f"eliza:/k{n}", 40) for n in range(4)]


OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM sqlite_master").fetchall()
connection.close()
"""


def open_log(path: Path) -> None:
    database.connect(path).close()


def open_batches(path: Path) -> None:
    environ = {"AGENTNB_LOG": str(path.with_name("sessions.db"))}
    BatchRows(None, "eliza", "{input}", environ).close()


@pytest.mark.parametrize(("name", "opened"), [("sessions.db", open_log), (BATCHES_NAME, open_batches)])
def test_second_connection_keeps_the_write_ahead_log(tmp_path: Path, name: str, opened: Callable[[Path], None]) -> None:
    """Else another process would delete it as unused, with what is written later; only the owner reads the files."""
    path = tmp_path / "data" / name
    opened(path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with closing(sqlite3.connect(path)) as first:
        first.execute("CREATE TABLE ours (value)")
        opened(path)
        subprocess.run([sys.executable, "-c", OTHER, str(path)], check=True)
        assert path.with_name(f"{name}-wal").exists()
        with first:
            first.execute("INSERT INTO ours VALUES (1)")
        with closing(sqlite3.connect(path)) as third:
            assert third.execute("SELECT value FROM ours").fetchall() == [(1,)]


SMALL_DISK = """
import sys
from pathlib import Path
from tests.unit.log.kernel import Kernel
disk = Path(sys.argv[1])
filling, path = disk / "filling", disk / "sessions.db"
for spare in range(0, 120_000, 8_192):
    kernel = Kernel(path)
    kernel.turn("a", "b")
    with filling.open("wb", buffering=0) as file:  # until nothing goes in any more, but for *spare* bytes
        try:
            while file.write(bytes(4_096)):
                pass
        except OSError:
            pass
        file.truncate(max(0, file.tell() - spare))
    kernel.writes()
    kernel.turn("c", "d" * 3_000)
    kernel.writes()
    causes = [error.message for error in kernel.trouble]
    print(spare, *(cause.partition(": ")[2] for cause in causes), sep="|")
    filling.unlink()
    kernel.store.close(5)
    for left in disk.glob("sessions.db*"):
        left.unlink()
"""


def _on_a_small_disk(script: str, folder: Path) -> list[str]:
    """Returns the output lines of *script*, with *folder* on a separate disk of 600 kB."""
    folder.mkdir()
    mount = f'mount -t tmpfs -o size=600k agentnb "{folder}" && exec "$@"'
    inner = ["sh", "-c", mount, "sh", sys.executable, "-c", script, str(folder)]
    command = ["unshare", "--mount", "--map-root-user", *inner]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    if "unshare" in run.stderr or "mount:" in run.stderr:
        pytest.skip(f"no disk of its own can be had here: {run.stderr.strip()}")
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="Linux only: a small disk is mounted")
def test_error_on_a_full_disk_names_the_full_disk(tmp_path: Path) -> None:
    """With any space left at the start; the cause is never the failed rollback."""
    lines = [line.split("|") for line in _on_a_small_disk(SMALL_DISK, tmp_path / "disk")]
    causes = {cause for _, *causes in lines for cause in causes}

    assert causes == {"the disk is full."}
