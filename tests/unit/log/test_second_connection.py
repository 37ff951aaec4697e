"""A second connection of a process to a database must not release the first one's locks."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agentnb.log.database import connect, make_private
from agentnb.log.location import BATCHES_NAME
from agentnb.plugins.map.records import BatchRows

OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT * FROM sqlite_master").fetchall()
connection.close()
"""


def open_log(path: Path) -> None:
    connect(path).close()


def open_batches(path: Path) -> None:
    environ = {"AGENTNB_LOG": str(path.with_name("sessions.db"))}
    BatchRows(None, "eliza", "{input}", environ).close()


@pytest.mark.parametrize(("name", "opened"), [("sessions.db", open_log), (BATCHES_NAME, open_batches)])
def test_second_connection_keeps_the_write_ahead_log(tmp_path: Path, name: str, opened: Callable[[Path], None]) -> None:
    """The other process would delete it as unused, and later writes of the first connection would be lost."""
    path = tmp_path / name
    opened(path)
    with closing(sqlite3.connect(path)) as first:
        first.execute("CREATE TABLE ours (value)")
        opened(path)
        subprocess.run([sys.executable, "-c", OTHER, str(path)], check=True)
        assert path.with_name(f"{name}-wal").exists()
        with first:
            first.execute("INSERT INTO ours VALUES (1)")
        with closing(sqlite3.connect(path)) as third:
            assert third.execute("SELECT value FROM ours").fetchall() == [(1,)]


def test_new_database_is_private(tmp_path: Path) -> None:
    """An existing one does not change."""
    path = tmp_path / "x.db"
    make_private(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"kept")
    make_private(path)
    assert path.read_bytes() == b"kept"
