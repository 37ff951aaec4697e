"""The inside: agentnb's data on disk, with ages and damage that only the file itself can be given."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentnb.api.history_rows import ThisLog, shell_log
from agentnb.api.storage import Storage, storage_of
from agentnb.errors import LogUnavailable, UsageError
from agentnb.host import Host
from agentnb.host.changes.location import changes_folder
from agentnb.host.changes.records import ConversationRecord, record_file, write_record
from agentnb.host.changes.workspace_store import WorkspaceStores
from agentnb.host.history.storage import keep_limits
from agentnb.ids import new_id
from agentnb.log.store import LogStore
from tests.unit.server.asking_page import MakeHost, kernel, talk

__all__ = ["kernel"]

DAY_MS = 86_400_000
RUBBISH = b"\xff" * 4096


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log file, also this process's log."""
    monkeypatch.setenv("AGENTNB_LOG", str(tmp_path / "log.db"))
    monkeypatch.setenv("AGENTNB_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "log.db"


@pytest.fixture
def shell(log: Path, kernel: MakeHost, tmp_path: Path) -> Storage:
    """Four conversations of an ended kernel, a day apart, the last today; the oldest is pinned."""
    host = kernel()
    for number in range(4):
        talk(host, tmp_path, (f"question {number}", "answer " * 200 * (number + 1)), title=str(number))
    host.close()
    now = max(record.modified_at for record in LogStore(log, new_id()).sessions())
    with closing(sqlite3.connect(log)) as connection, connection:
        connection.execute("UPDATE sessions SET modified_at = ? - (3 - title) * ?", (now, DAY_MS))
    store = LogStore(log, new_id())
    store.mark(store.sessions()[-1].uri, pinned=True)
    return storage_of(shell_log())


def stored_at(log: Path, host: Host | None = None) -> Storage:
    """Returns the storage of the log at a path, without figures."""
    return storage_of(ThisLog(LogStore(log, new_id()), host), measure=False)


def titles(log: Path) -> list[str]:
    return [record.title for record in LogStore(log, new_id()).sessions()]


def uris_of(log: Path) -> list[str]:
    """Returns the channels of the log's conversations."""
    return [record.uri for record in LogStore(log, new_id()).sessions(archived=None)]


def damage(log: Path, table: str) -> None:
    """Overwrites the first page of *table* below its root."""
    with closing(sqlite3.connect(log)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        bytes_of_page = connection.execute("PRAGMA page_size").fetchone()[0]
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    with log.open("r+b") as file:
        file.seek((page - 1) * bytes_of_page)
        file.write(RUBBISH)


def test_storage_measures_size_by_kind_agent_and_folder(shell: Storage, log: Path, tmp_path: Path) -> None:
    """The kinds add up to all files; agents and folders have their shares."""
    LogStore(log, new_id()).find("question")
    shell = storage_of(shell_log())
    files = [path for path in tmp_path.iterdir() if path.is_file() and path.name.startswith("log")]
    assert shell.bytes == sum(path.stat().st_size for path in files if path.suffix != ".lock")
    kinds = {row.name: row.items for row in shell if row.what == "kind"}
    assert (kinds["conversations"], kinds["search index"] > 0) == (4, True)
    others = [(row.what, row.name, row.items) for row in shell if row.what != "kind"]
    assert others == [("agent", "eliza", 4), ("folder", str(tmp_path), 4)]
    assert {row.bytes > 10_000 for row in shell if row.what != "kind"} == {True}
    assert str(log) in repr(shell)
    assert "<table>" in shell._repr_html_()


def test_remove_deletes_old_conversations_after_a_dry_run(shell: Storage, log: Path) -> None:
    """The dry run names what is then deleted; the pinned one stays."""
    planned = shell.remove(older_than_days=1.5)
    assert (planned.titles, planned.is_done, titles(log)) == (("1",), False, ["0", "3", "2", "1"])
    assert str(planned) == "1 conversation would be deleted.\n  1"
    done = shell.remove(older_than_days=1.5, dry_run=False)
    assert (done.titles, str(done), titles(log)) == (("1",), "1 conversation deleted.", ["0", "3", "2"])


def test_remove_deletes_the_oldest_until_the_others_fit(shell: Storage, log: Path) -> None:
    """No more than the limit needs; nothing if all fit."""
    everything = next(row.bytes for row in shell if row.what == "agent")
    wanted = {everything: (), everything - 1: ("1",), 0: ("1", "2", "3")}
    assert {size: shell.remove(larger_than=size).titles for size in wanted} == wanted
    shell.remove(larger_than="1K", dry_run=False)
    assert titles(log) == ["0"]


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"older_than_days": -1},
        {"older_than_days": "old"},
        {"older_than_days": float("nan")},
        {"larger_than": "much"},
    ],
    ids=repr,
)
def test_remove_rejects_wrong_limits(log: Path, limits: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="For example"):
        stored_at(log).remove(**limits)  # type: ignore[arg-type]


def test_kernel_applies_log_limits_from_the_environment(shell: Storage, log: Path, kernel: MakeHost) -> None:
    """Without limits, or with invalid ones, nothing is deleted."""
    host, store = kernel(), LogStore(log, new_id())
    for variables in ({}, {"AGENTNB_LOG_DAYS": "soon"}, {"AGENTNB_LOG_MAX": "much"}):
        assert host.loop.submit(keep_limits(store, host.stores, variables)).result(60) == 0
    assert host.loop.submit(keep_limits(store, host.stores, {"AGENTNB_LOG_DAYS": "2"})).result(60) == 1
    assert host.loop.submit(keep_limits(store, host.stores, {"AGENTNB_LOG_MAX": "1"})).result(60) == 2
    assert titles(log) == ["0"]


def test_open_conversation_is_never_deleted(log: Path, kernel: MakeHost, tmp_path: Path) -> None:
    """Neither by its own kernel, nor another, nor a shell."""
    host, other = kernel(), kernel("other.ipynb")
    talk(host, tmp_path, ("a", "b"), title="open")
    flushed(host)
    for storage in (storage_of(shell_log()), stored_at(log, host), stored_at(log, other)):
        assert storage.delete_all(dry_run=False).titles == ()
        assert storage.remove(larger_than=0, dry_run=False).titles == ()
    assert titles(log) == ["open"]


def flushed(host: Host) -> None:
    assert host.recorder is not None
    assert host.recorder.flush(30)


def test_delete_all_frees_the_disk_space(shell: Storage, log: Path) -> None:
    """Also the pinned one; no file keeps any of the text."""
    LogStore(log, new_id()).find("question")
    assert shell.delete_all().titles == ("0", "3", "2", "1")
    before = storage_of(shell_log()).bytes
    assert shell.delete_all(dry_run=False).is_done
    assert (titles(log), storage_of(shell_log()).bytes < before) == ([], True)
    assert [path.name for path in log.parent.glob("log*") if b"question" in path.read_bytes()] == []


@pytest.mark.parametrize("others", [0, 1])
def test_delete_all_works_when_a_workspace_is_gone(log: Path, kernel: MakeHost, tmp_path: Path, others: int) -> None:
    """Also the turns' changes there, unless another conversation needs them; then they stay."""
    host, work = kernel(), tmp_path / "work"
    work.mkdir()
    (work / "file.txt").write_text("text", encoding="utf-8")
    talk(host, work, ("a", "b"), title="gone")
    host.close()
    store = WorkspaceStores(changes_folder()).of(work)
    asyncio.run(store.take())
    for tab_id in (LogStore(log, new_id()).sessions()[0].tab_id, "another")[: 1 + others]:
        write_record(record_file(store.records, tab_id), ConversationRecord(session=tab_id, workspace=str(work)))
    shutil.rmtree(work)
    assert storage_of(shell_log()).delete_all(dry_run=False).titles == ("gone",)
    assert (titles(log), store.folder.exists()) == ([], bool(others))


@pytest.mark.parametrize("table", ["", "turns", "snapshots", "entries", "usage"])
def test_repair_recovers_what_is_readable_in_a_damaged_log(shell: Storage, log: Path, table: str) -> None:
    """Whichever table is damaged, the new file is sound, and losses are named; the old file stays."""
    if table:
        damage(log, table)
    assert (shell.check() == []) is not bool(table)
    done = shell.repair()
    assert shell.check() == []
    assert (done.sessions, len(done.lost)) == (4, 0 if table in ("", "turns") else 4)
    assert titles(log) == ["0", "3", "2", "1"]
    assert (log.parent / done.aside).exists()
    assert [path.name for path in log.parent.iterdir() if "repaired" in path.name] == []


def test_repair_rebuilds_the_turns_from_the_conversations(shell: Storage, log: Path) -> None:
    """They are found, listed and counted as before; also if rows are missing from a sound table."""
    before = {uri: LogStore(log, new_id()).latest_turns(uri, 10) for uri in uris_of(log)}
    damage(log, "turns")
    shell.repair()
    assert {uri: LogStore(log, new_id()).latest_turns(uri, 10) for uri in uris_of(log)} == before
    with closing(sqlite3.connect(log)) as connection, connection:
        connection.execute("DELETE FROM turns")
    assert shell.repair().lost == ()
    assert {uri: LogStore(log, new_id()).latest_turns(uri, 10) for uri in uris_of(log)} == before
    assert len(LogStore(log, new_id()).find("question 2").sessions) == 1


def test_repair_moves_a_log_aside_that_is_not_a_database(log: Path) -> None:
    """Nothing in it is readable; the next conversation begins a new file."""
    log.write_bytes(b"not a database at all, " * 500)
    storage = stored_at(log)
    assert len(storage.check()) == 1
    assert storage.repair()[:2] == (0, ())
    assert storage.check() == []


@pytest.mark.parametrize("content", [b"", b"rubbish" * 1000, b"SQLite format 3\x00" + b"\x00" * 4000], ids=len)
def test_import_rejects_a_file_that_is_not_a_log(log: Path, tmp_path: Path, content: bytes) -> None:
    """An error has the reason, or nothing is added."""
    file = tmp_path / "in.db"
    file.write_bytes(content)
    storage = stored_at(log)
    try:
        assert storage.import_from(file) == (0, 0)
    except LogUnavailable as error:
        assert str(error).startswith(f"{file} cannot be imported: ")  # noqa: PT017 - an empty file is an empty log
        assert error.hint == "Nothing was changed. Specify a file that was written by `agentnb storage --export`."  # noqa: PT017
    assert storage.check() == []
    with pytest.raises(LogUnavailable, match="is not a file"):
        storage.import_from(tmp_path / "missing.db")
