"""The durable log survives the end of the process, a bad disk and a damaged file."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentnb import __version__
from agentnb.errors import LogDamaged, LogError, LogUnavailable, UnknownSession
from agentnb.log import database
from agentnb.log.location import log_location
from agentnb.log.record import LogBatch, SessionRecord, TurnText
from agentnb.log.store import LogStore
from agentnb.state import (
    Action,
    ChatDelta,
    ChatResponsePart,
    ChatState,
    ChatTurnComplete,
    ChatTurnStarted,
    Envelope,
    MarkdownResponsePart,
    Message,
    MessageOrigin,
    SessionState,
    SessionTitleChanged,
    encode,
    reduce_chat,
)
from tests.conftest import ROOT
from tests.thorough import examples
from tests.unit.api.conftest import PATIENCE
from tests.unit.log.streaming_kernel import TAB

URI = f"eliza:/{TAB}"
CHAT = f"{URI}/chat"
SESSION = SessionState(
    provider="eliza",
    title="T",
    status=1,
    lifecycle="ready",
    active_clients=(),
    chats=(),
)
EMPTY = ChatState(resource=CHAT, title="T", status=1, modified_at="", turns=())


class Kernel:
    """A store and a chat that writes every action to it."""

    def __init__(self, path: Path, host_id: str = "host", uri: str = URI, place: str = "") -> None:
        self.trouble: list[LogError] = []
        self.store = LogStore(path, host_id, lambda error: self.trouble.append(error) if error is not None else None)
        self.state, self.index = replace(EMPTY, resource=f"{uri}/chat"), 0
        self.batch = LogBatch(snapshots={uri: (0, SESSION), f"{uri}/chat": (0, self.state)})
        self.record = SessionRecord(
            uri=uri, agent="eliza", title="T", cwd="/w", place=place, host_id=host_id, created_at=1, modified_at=1
        )

    def does(self, *actions: Action) -> None:
        for action in actions:
            self.state, self.index = reduce_chat(self.state, action), self.index + 1
            self.batch.entries.append(Envelope(channel=f"{self.record.uri}/chat", index=self.index, action=action))

    def turn(self, prompt: str, answer: str, step: int = 1) -> None:
        """Adds a whole turn with the answer in pieces of *step* characters."""
        number = len(self.state.turns)
        message = Message(text=prompt, origin=MessageOrigin(kind="user"))
        self.does(ChatTurnStarted(turn_id=f"t{number}", message=message))
        self.does(ChatResponsePart(turn_id=f"t{number}", part=MarkdownResponsePart(id=f"p{number}", content="")))
        words = [answer[at : at + step] for at in range(0, len(answer), step)]
        self.does(*(ChatDelta(turn_id=f"t{number}", part_id=f"p{number}", content=word) for word in words))
        self.does(ChatTurnComplete(turn_id=f"t{number}"))
        ended = TurnText(uri=self.record.uri, number=number, turn_id=f"t{number}", prompt=prompt, answer=answer)
        self.batch.turns.append(ended)

    def snapshot(self) -> None:
        self.batch.snapshots[f"{self.record.uri}/chat"] = (self.index, self.state)

    def writes(self) -> None:
        self.batch.sessions[self.record.uri] = self.record
        self.store.write(self.batch)
        assert self.store.flush(PATIENCE)
        self.batch = LogBatch()


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


def test_forgotten_session_is_gone(path: Path) -> None:
    kernel = Kernel(path)
    kernel.turn("Draw.", "Here.")
    kernel.writes()
    assert kernel.store.forget(URI)
    assert kernel.store.sessions() == []
    with pytest.raises(UnknownSession):
        kernel.store.load(URI)
    assert not kernel.store.forget(URI)


# --- listing ---


@pytest.mark.parametrize(
    ("search", "count"), [("", 3), ("RESIDUALS", 1), ("straße", 1), ("STRASSE", 1), ("eliza", 3), ("%", 0), ("'", 0)]
)
def test_search_finds_words_in_prompts_and_answers_literally(path: Path, search: str, count: int) -> None:
    for number, words in enumerate(["Plot the residuals.", "Wo ist die Straße?", "Hello"]):
        kernel = Kernel(path, uri=f"eliza:/{number}")
        kernel.turn("Please.", words)
        kernel.writes()
    assert len(LogStore(path, "host").sessions(search)) == count


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


def test_a_session_without_a_turn_is_not_listed(path: Path) -> None:
    kernel = Kernel(path)
    kernel.does(SessionTitleChanged(title="x"))
    kernel.writes()
    assert kernel.store.sessions() == []


def test_a_log_that_was_never_written_is_empty(path: Path) -> None:
    store = LogStore(path, "host")
    assert store.sessions() == []
    with pytest.raises(UnknownSession, match=r"agentnb\.history"):
        store.load(URI)
    assert not path.exists()


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


def test_invalid_log_file_is_moved_aside_and_replaced(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all, " * 100)
    kernel = Kernel(path)
    kernel.turn("a", "b")
    kernel.writes()
    assert len(kernel.trouble) == 1
    assert isinstance(kernel.trouble[0], LogDamaged)
    aside = next(path.parent.glob("*.damaged-*"))
    assert aside.name in str(kernel.trouble[0])
    assert aside.read_bytes().startswith(b"not a database")
    fresh = Kernel(path)
    fresh.turn("a", "b")
    fresh.writes()
    assert fresh.trouble == []
    assert fresh.store.load(URI).chat == fresh.state


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


def test_damage_inside_the_log_is_found_when_it_is_opened(path: Path) -> None:
    kernel = Kernel(path)
    for _ in range(50):
        kernel.turn("why" * 50, "because " * 20)
    kernel.writes()
    kernel.store.close()
    rot(path)
    again = Kernel(path, "other")
    again.turn("a", "b")
    again.writes()
    assert [type(error) for error in again.trouble] == [LogDamaged]
    assert list(path.parent.glob("*.damaged-*"))


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
from tests.unit.log.test_store import SESSION, Kernel
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


def test_entries_after_the_damage_stay_out_of_the_session(path: Path) -> None:
    """These entries follow a lost state, and would be mixed with later turns."""
    kernel = Kernel(path)
    for number in range(6):
        kernel.turn(f"old {number}", "x")
        kernel.writes()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE entries SET envelope = replace(envelope, 't2', 'tX') WHERE at = 9")
    later = Kernel(path, "later")
    read = later.store.load(URI)
    later.state, later.index = read.chat, read.chat_index
    assert len(later.state.turns) == 2
    later.record = replace(later.record, gap=read.gap)
    later.batch = LogBatch()
    later.snapshot()
    later.turn("BRANDNEW", "x")
    later.writes()
    again = LogStore(path, "again").load(URI)
    assert [turn.message.text for turn in again.chat.turns] == ["old 0", "old 1", "BRANDNEW"]
    assert again.gap == read.gap is not None
    assert again.record.turns == 3
    assert LogStore(path, "again").sessions("old 4") == []


def test_damaged_snapshot_error_names_the_session(path: Path) -> None:
    kernel = Kernel(path)
    kernel.turn("a", "b")
    kernel.writes()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE snapshots SET state = x'7b7d' WHERE channel = ?", (CHAT,))
    with pytest.raises(LogDamaged, match=f"{URI} cannot be read"):
        kernel.store.load(URI)


# --- versions ---


def test_log_of_a_newer_version_is_not_used(path: Path) -> None:
    Kernel(path).writes()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {len(database.MIGRATIONS) + 1}")
    newer = Kernel(path)
    newer.turn("a", "b")
    newer.writes()
    assert [type(error) for error in newer.trouble] == [LogUnavailable]
    assert "newer agentnb" in str(newer.trouble[0])
    with pytest.raises(LogUnavailable, match="Update agentnb"):
        newer.store.sessions()


@pytest.mark.parametrize(("version", "named"), [("9.1", "agentnb 9.1 or later"), (b"x", "a newer agentnb")])
def test_error_for_a_newer_log_names_the_agentnb_that_reads_it(path: Path, version: object, named: str) -> None:
    """The newer agentnb has left a row for this one."""
    Kernel(path).writes()
    newer = len(database.MIGRATIONS) + 1
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO readers VALUES (?, ?)", (newer, version))
        connection.execute(f"PRAGMA user_version = {newer}")
    with pytest.raises(LogUnavailable, match=f"It can be read by {named}; this is agentnb {__version__}"):
        database.connect(path)


def test_the_log_names_the_oldest_agentnb_that_reads_it(path: Path) -> None:
    Kernel(path).writes()
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT * FROM readers").fetchall()
    assert rows == [(len(database.MIGRATIONS), database.OLDEST_READER)]


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


def test_unwritable_log_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    kernel = Kernel(tmp_path / "file/sessions.db")
    kernel.turn("a", "b")
    kernel.writes()
    assert "AGENTNB_LOG" in str(kernel.trouble[0])


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.unit.log.test_store import Kernel
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
from tests.unit.log.test_store import Kernel
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


def test_log_is_readable_by_its_owner_only(path: Path) -> None:
    Kernel(path).writes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


# --- where it lies ---


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"AGENTNB_LOG": "off"}, None),
        ({"AGENTNB_LOG": "/a/logs/"}, "/a/logs/sessions.db"),
        ({"JUPYTER_DATA_DIR": "/data"}, "/data/agentnb/sessions.db"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/jupyter/agentnb/sessions.db"),
        ({"HOME": "/h"}, "/h/.local/share/jupyter/agentnb/sessions.db"),
    ],
)
def test_log_location_follows_the_environment(environ: dict[str, str], expected: str | None) -> None:
    location = log_location(environ)
    assert (None if location is None else location.as_posix()) == expected


SMALL_DISK = """
import sys
from pathlib import Path
from tests.unit.log.test_store import Kernel
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
