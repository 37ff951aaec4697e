"""The inside: workspaces on network file systems, of which a test has none; a table of mounts stands in for them."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from agentnb.changes.store_folder import CLOCK_NS, network_file_system, unavailable
from tests.unit.changes.conftest import Opened

CASES: dict[str, list[Any]] = json.loads(
    (Path(__file__).parents[2] / "cases/tables/network_mounts.json").read_text("utf-8")
)

MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:50 / /home rw,relatime shared:1 master:2 - nfs4 server:/home rw,vers=4.2
41 40 0:51 / /home/ada/local\\040disk rw - xfs /dev/vdb rw
42 27 0:52 / /mnt/s rw - fuse.sshfs ada@server:/ rw
43 27 0:53 / /mnt/a rw - fuse.appimage app rw
44 27 0:54 / /mnt/over rw - cifs //server/share rw
45 27 0:55 / /mnt/over rw - tmpfs tmpfs rw
a broken line
46 27 0:56 / /mnt/no-end rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    CASES["mounts"],
)
def test_folder_is_on_its_nearest_and_latest_mount(tmp_path: Path, folder: str, kind: str | None) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert network_file_system(Path(folder), tmp_path / "mounts") == kind


def test_network_workspace_has_a_note_and_late_changes_are_seen(
    opened: Opened, workspace: Path, tmp_path: Path
) -> None:
    """The server's clock may be behind: a file dated a minute ago may have been written just now."""
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {os.fspath(workspace)} rw - nfs server:/ rw\n")
    store = opened(mounts=mounts)
    (workspace / "a.txt").write_text("one")
    os.utime(workspace / "a.txt", (time.time() - 60,) * 2)
    before = store.take()
    assert [note for note in before.notes if "network file system (nfs)" in note] != []
    index = tmp_path / "store/git/index"
    if index.exists():
        assert index.stat().st_mtime_ns <= time.time_ns() - CLOCK_NS
    (workspace / "a.txt").write_text("two")
    assert [each.path for each in store.changes(before, store.take())] == ["a.txt"]


def test_error_names_the_read_only_file_system(tmp_path: Path) -> None:
    """The workspace for a name in it, otherwise the store."""
    store, workspace = tmp_path / "store", tmp_path / "work"
    words = "is on a read-only file system: nothing was written."
    for name, place in ((".agentnb-pending-1", workspace), (os.fspath(store / "lock"), store)):
        error = OSError(errno.EROFS, os.strerror(errno.EROFS), name)
        assert unavailable(error, store, workspace).message == f"{place} {words}"
