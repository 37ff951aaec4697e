"""What counts of a preview: whether it is harmless, and which files it saw.

The inside: which of many previews lets a command run unasked, and most of them cannot be made here.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentnb import Rehearsal
from agentnb.host.changes.own_files import OwnFiles
from agentnb.host.permissions.outcome import is_harmless, look
from agentnb.kernel.rehearsal_result import unavailable
from agentnb.policy.request import Situation
from agentnb.state import RehearsalFile

SAFE = Rehearsal(files=(RehearsalFile(path="a", status="created"), RehearsalFile(path="/w/b", status="changed")))


@pytest.mark.parametrize(
    ("preview", "harmless"),
    [
        (Rehearsal(), True),
        (SAFE, True),
        (Rehearsal(exit_code=0), True),
        (Rehearsal(exit_code=1), False),
        (Rehearsal(error="ZeroDivisionError"), False),
        (Rehearsal(reason="With Landlock alone not all is seen."), False),
        (Rehearsal(connections=("x:80",)), False),
        (Rehearsal(refused=("/etc/hosts",)), False),
        (Rehearsal(more_files=1), False),
        (Rehearsal(files=(RehearsalFile(path="a", status="deleted"),)), False),
        (Rehearsal(files=(RehearsalFile(path=".env", status="changed"),)), False),
        (Rehearsal(files=(RehearsalFile(path="../a", status="created"),)), False),
        (Rehearsal(files=(RehearsalFile(path="/etc/a", status="created"),)), False),
        (unavailable("This is not Linux."), False),
    ],
)
def test_preview_is_harmless_if_complete_and_undoable(preview: Rehearsal, harmless: bool) -> None:
    assert is_harmless(preview, "/w", Situation(agent="a", root=Path("/w"))) is harmless


def test_preview_leaves_out_own_files_unless_named(tmp_path: Path) -> None:
    """Also in a folder that is reached by a link, and a cassette that is recorded."""
    workspace, link = tmp_path / "work", tmp_path / "link"
    cassette, environ = workspace / "fit.cassette.jsonl", {"AGENTNB_DATA_DIR": os.fspath(workspace / "data")}
    own = OwnFiles(workspace / "x.db", cassette=lambda: cassette, environ=environ)
    users = {"mine.csv", "data/mine.csv", "a/fit.cassette.jsonl"}
    for name in (*users, "x.db", "x.db-wal", "data/changes/a", cassette.name, "fit.cassette.files/0a"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("1")
    link.symlink_to(workspace)
    seen = look(os.fspath(link), [f"{link}/x.db"], own.of(link).has).seen
    assert {os.path.relpath(each, link) for each in seen} == {*users, "x.db"}
