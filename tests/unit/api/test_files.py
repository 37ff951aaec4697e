"""``turn.files`` and ``session.files``: the changed files, and the workspace's files only."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agentnb
from agentnb import Session
from agentnb.errors import FileUnavailable, OutsideWorkspace, UsageError
from tests.unit.api.conftest import PATIENCE

ENTRIES = 1_000
"""The most entries of one folder that are listed."""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The workspace, with a file outside."""
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    return tmp_path / "work"


@pytest.fixture
def session(work: Path) -> Iterator[Session]:
    with agentnb.start("eliza", cwd=work, permissions="allow") as session:
        yield session


@pytest.fixture
def files(session: Session) -> Any:
    """The files of a session whose agent has not started."""
    return session.files


def test_turn_files_list_changes_and_session_files_show_the_diff(session: Session, work: Path) -> None:
    """Eliza writes through agentnb, so each turn's changes come from its tool calls."""
    (work / "notes.txt").write_text("old\n")
    first = session.prompt("/write notes.txt new").wait(PATIENCE)
    (change,) = first.files
    assert (change.path, change.kind) == ("notes.txt", "changed")
    second = session.prompt("/write notes.txt newer").wait(PATIENCE)
    assert [each.path for each in second.files] == ["notes.txt"]
    assert "-old" in session.files.diff("notes.txt").splitlines()
    assert session.files.diff(work / "notes.txt") == session.files.diff("notes.txt")
    assert session.files.diff("other.txt") == ""
    assert session.files.read("notes.txt").data == (work / "notes.txt").read_bytes()
    nothing = session.prompt("Hello").wait(PATIENCE).files
    assert (nothing, repr(nothing), nothing._repr_html_()) == (
        (),
        "No file was changed.",
        "<p>No file was changed.</p>",
    )


def test_table_of_changed_files_escapes_their_names(session: Session) -> None:
    """They are escaped in HTML and keep to one line."""
    table = session.prompt("/write a<b>\x0b.py new").wait(PATIENCE).files
    assert repr(table).splitlines()[1:] == ["a<b>\\x0b.py  created  +1     -0"]
    assert "<b>" not in table._repr_html_()
    assert "a&lt;b&gt;\\x0b.py" in table._repr_html_()


ODD = ["a b.txt", "ü€.txt", "new\nline.txt", "tab\tname", "-rf", "<img src=x>", "'\""]


@pytest.mark.parametrize("name", [*ODD, os.fsdecode(b"\xff.txt")])
def test_files_with_unusual_names_can_be_listed_and_read(files: Any, work: Path, name: str) -> None:
    """Spaces, other alphabets, newlines, names like options or markup, bytes that are not UTF-8."""
    (work / name).write_bytes(b"\0\xffbinary")
    (entry,) = files.list()
    assert (entry.name, entry.kind, entry.size) == (name, "file", 8)
    assert files.read(name).data == b"\0\xffbinary"
    assert "<img" not in files.list()._repr_html_()
    repr(files.list()).encode()
    assert len(repr(files.list()).splitlines()) == 2


def test_list_shows_folders_first_and_does_not_follow_links(files: Any, work: Path) -> None:
    """Link targets do not matter; only files have sizes."""
    (work / "z").mkdir()
    (work / "z/inner.txt").write_text("12345")
    (work / "a.txt").write_text("1")
    (work / "link").symlink_to("/etc")
    os.mkfifo(work / "pipe")
    table = files.list()
    assert table.path == "."
    rows = [(entry.name, entry.kind, entry.size) for entry in table]
    assert rows == [("z", "folder", None), ("a.txt", "file", 1), ("link", "link", None), ("pipe", "other", None)]
    assert [entry.name for entry in files.list("z")] == ["inner.txt"]
    assert [entry.name for entry in files.list(work / "z")] == ["inner.txt"]


def test_list_cuts_a_large_folder_and_counts_the_rest(files: Any, work: Path) -> None:
    """It shows the first names."""
    for number in range(ENTRIES + 2):
        (work / f"{number:05}").touch()
    table = files.list()
    assert (len(table), table.more, table.entries[-1].name) == (ENTRIES, 2, f"{ENTRIES - 1:05}")
    assert repr(table).endswith("And 2 more.")
    assert table._repr_html_().endswith("<p>And 2 more.</p>")


def test_read_returns_a_whole_file_or_some_lines_or_bytes(files: Any, work: Path) -> None:
    """The result has the part's position."""
    (work / "log").write_bytes(b"1\n22\n333\n4444")
    whole = files.read("log")
    assert (whole.text, whole.size, whole.cut, repr(whole)) == ("1\n22\n333\n4444", 13, False, "<log: 13 bytes>")
    head, tail = files.read("log", head=2), files.read("log", tail=2)
    assert (head.data, head.offset, head.cut) == (b"1\n22\n", 0, True)
    assert (tail.data, tail.offset, repr(tail)) == (b"333\n4444", 5, "<log: 8 bytes of 13, from 5 on>")
    assert files.read("log", head=99).data == files.read("log", tail=99).data == whole.data
    few = files.read("log", max_bytes=3)
    assert (few.data, few.size, few.cut) == (b"1\n2", 13, True)
    assert files.read("log", max_bytes=3, tail=1).data == b"444"
    (work / "none").touch()
    assert files.read("none").data == files.read("none", tail=1).data == b""


@pytest.mark.parametrize(
    "wrong",
    [
        {"head": 1, "tail": 1},
        {"head": 0},
        {"tail": -1},
        {"max_bytes": 0},
        {"max_bytes": 64 * 1024**2 + 1},
        {"head": True},
    ],
)
def test_read_rejects_wrong_numbers_with_a_hint(files: Any, work: Path, wrong: dict[str, Any]) -> None:
    (work / "a").touch()
    with pytest.raises(UsageError) as failure:
        files.read("a", **wrong)
    assert failure.value.hint


@pytest.mark.parametrize("path", ["../secret.txt", "{outside}/secret.txt", "link", "up/secret.txt", "chain/secret.txt"])
def test_read_and_list_reject_paths_outside_the_workspace(files: Any, work: Path, path: str) -> None:
    """By ``..``, an absolute path, a link, or a chain of links; neither read nor list."""
    (work / "link").symlink_to("../secret.txt")
    (work / "up").symlink_to("..")
    (work / "chain").symlink_to("up")
    with pytest.raises(OutsideWorkspace):
        files.read(path.format(outside=work.parent))
    with pytest.raises(OutsideWorkspace):
        files.list(Path(path.format(outside=work.parent)).parent if "/" in path else "up")
    with pytest.raises(OutsideWorkspace):
        files.read("a\0b")


@pytest.mark.parametrize("name", ["real.txt", ".env"])
def test_read_follows_a_link_inside_the_workspace(files: Any, work: Path, name: str) -> None:
    """Also to a file that may hold secrets: only pages and agents do not get it."""
    (work / name).write_text("x")
    (work / "alias").symlink_to(name)
    assert files.read("alias")[:2] == (name, b"x")


def test_read_and_list_fail_for_the_wrong_kind_of_path(files: Any, work: Path) -> None:
    """Missing, the wrong type, a pipe without a writer, a socket."""
    (work / "folder").mkdir()
    (work / "file").touch()
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(work)  # a socket's path must be short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for path in ("missing", "folder", "pipe", "socket", ".", "missing/below"):
            with pytest.raises(FileUnavailable):
                files.read(path)
    for path in ("missing", "file", "pipe"):
        with pytest.raises(FileUnavailable):
            files.list(path)


def test_read_fails_without_permission_for_the_file(files: Any, work: Path) -> None:
    """Except for root, who can read anything."""
    (work / "closed").write_text("x")
    (work / "closed").chmod(0)
    if os.access(work / "closed", os.R_OK):
        assert files.read("closed").data == b"x"
    else:
        with pytest.raises(FileUnavailable, match="Permission denied"):
            files.read("closed")
