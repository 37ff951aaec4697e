"""``turn.files`` and ``session.files``: the changed files, and the workspace's files only."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import agentnb
from agentnb.api.files import FileChangeTable, SessionFiles
from agentnb.errors import FileUnavailable, OutsideWorkspace, UsageError
from agentnb.host.files.changes import FileChange
from agentnb.host.files.workspace_files import ENTRIES, LARGEST, for_page
from agentnb.policy.sensitive import SENSITIVE
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.safe_files import open_path
from tests.unit.api.conftest import PATIENCE


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The workspace, with a file outside."""
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    return tmp_path / "work"


@pytest.fixture
def files(work: Path) -> SessionFiles:
    """The files of a session with only a folder."""
    conversation: Any = SimpleNamespace(cwd=work)
    return SessionFiles(conversation)


def test_turn_files_list_changes_and_session_files_show_the_diff(work: Path) -> None:
    """Eliza writes through agentnb, so each turn's changes come from its tool calls."""
    (work / "notes.txt").write_text("old\n")
    session = agentnb.start("eliza", cwd=work, permissions="allow")
    try:
        first = session.prompt("/write notes.txt new").wait(PATIENCE)
        (change,) = first.files
        assert (change.path, change.kind) == ("notes.txt", "changed")
        second = session.prompt("/write notes.txt newer").wait(PATIENCE)
        assert [each.path for each in second.files] == ["notes.txt"]
        assert "-old" in session.files.diff("notes.txt").splitlines()
        assert session.files.diff(work / "notes.txt") == session.files.diff("notes.txt")
        assert session.files.diff("other.txt") == ""
        assert session.files.read("notes.txt").data == (work / "notes.txt").read_bytes()
        assert session.prompt("Hello").wait(PATIENCE).files == ()
    finally:
        session.close()


def test_file_change_table_escapes_file_names() -> None:
    """File names are escaped in HTML and keep to one line."""
    table = FileChangeTable(
        [FileChange("a<b>\n.py", "changed", 2, 1, ""), FileChange("gone", "deleted", None, None, "")]
    )
    assert repr(table).splitlines()[1:] == ["a<b>\\n.py  changed  +2     -1", "gone       deleted"]
    assert "<b>" not in table._repr_html_()
    assert "a&lt;b&gt;\\n.py" in table._repr_html_()
    assert (repr(FileChangeTable()), FileChangeTable()._repr_html_()) == (
        "No file was changed.",
        "<p>No file was changed.</p>",
    )


ODD = ["a b.txt", "ü€.txt", "new\nline.txt", "tab\tname", "-rf", "<img src=x>", "'\""]


@pytest.mark.parametrize("name", ODD)
def test_files_with_unusual_names_can_be_listed_and_read(files: SessionFiles, work: Path, name: str) -> None:
    """Spaces, other alphabets, newlines, names like options or markup."""
    (work / name).write_bytes(b"\0\xffbinary")
    (entry,) = files.list()
    assert (entry.name, entry.kind, entry.size) == (name, "file", 8)
    assert files.read(name).data == b"\0\xffbinary"
    assert "<img" not in files.list()._repr_html_()
    assert len(repr(files.list()).splitlines()) == 2


def test_file_name_that_is_not_utf8_can_be_listed_and_read(files: SessionFiles, work: Path) -> None:
    name = os.fsdecode(b"\xff.txt")
    (work / name).write_text("x")
    assert [entry.name for entry in files.list()] == [name]
    assert files.read(name).data == b"x"
    repr(files.list()).encode()


def test_list_shows_folders_first_and_does_not_follow_links(files: SessionFiles, work: Path) -> None:
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


def test_list_cuts_a_large_folder_and_counts_the_rest(files: SessionFiles, work: Path) -> None:
    """It shows the first names."""
    for number in range(ENTRIES + 2):
        (work / f"{number:05}").touch()
    table = files.list()
    assert (len(table), table.more, table.entries[-1].name) == (ENTRIES, 2, f"{ENTRIES - 1:05}")
    assert repr(table).endswith("And 2 more.")
    assert table._repr_html_().endswith("<p>And 2 more.</p>")


def test_read_returns_a_whole_file_or_some_lines_or_bytes(files: SessionFiles, work: Path) -> None:
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
    [{"head": 1, "tail": 1}, {"head": 0}, {"tail": -1}, {"max_bytes": 0}, {"max_bytes": LARGEST + 1}, {"head": True}],
)
def test_read_rejects_wrong_numbers_with_a_hint(files: SessionFiles, work: Path, wrong: dict[str, Any]) -> None:
    (work / "a").touch()
    with pytest.raises(UsageError) as failure:
        files.read("a", **wrong)
    assert failure.value.hint


@pytest.mark.parametrize("path", ["../secret.txt", "{outside}/secret.txt", "link", "up/secret.txt", "chain/secret.txt"])
def test_read_and_list_reject_paths_outside_the_workspace(files: SessionFiles, work: Path, path: str) -> None:
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


@pytest.mark.parametrize("path", ["a.txt", "sub/a.txt"])
def test_open_fails_when_a_path_became_a_link_after_the_check(work: Path, path: str) -> None:
    """An attacker swaps the file or a parent folder for a link after the check."""
    (work / "sub").mkdir()
    (work / path).write_text("x")
    looked_at = WorkspaceBoundary(work).resolve(path)
    if "/" in path:
        (work / "sub").rename(work / "moved")
        (work / "sub").symlink_to("moved")
    else:
        (work / path).unlink()
        (work / path).symlink_to("../secret.txt")
    with pytest.raises(OutsideWorkspace, match="no longer leads where it led"):
        open_path(work, looked_at, os.O_RDONLY)


def test_read_follows_a_link_inside_the_workspace(files: SessionFiles, work: Path) -> None:
    (work / "real.txt").write_text("x")
    (work / "alias").symlink_to("real.txt")
    assert files.read("alias")[:2] == ("real.txt", b"x")


def test_read_and_list_fail_for_the_wrong_kind_of_path(files: SessionFiles, work: Path) -> None:
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


def test_read_fails_without_permission_for_the_file(files: SessionFiles, work: Path) -> None:
    """Except for root, who can read anything."""
    (work / "closed").write_text("x")
    (work / "closed").chmod(0)
    if os.access(work / "closed", os.R_OK):
        assert files.read("closed").data == b"x"
    else:
        with pytest.raises(FileUnavailable, match="Permission denied"):
            files.read("closed")


@pytest.mark.parametrize("name", [".env", "id_rsa", "a.pem", "sub/.netrc", "my.csv", "alias.txt"])
def test_sensitive_files_are_read_in_python_but_not_sent_to_pages(files: SessionFiles, work: Path, name: str) -> None:
    """The link's target counts, as do the user's patterns; the error has the Python call."""
    (work / "sub").mkdir()
    (work / ".env").write_text("KEY=1")
    (work / "alias.txt").symlink_to(".env")
    for each in ("id_rsa", "a.pem", "sub/.netrc", "my.csv", "fine.txt"):
        (work / each).write_text("x")
    patterns = {**SENSITIVE, "**/*.csv": True}
    file = files.read(name)
    with pytest.raises(FileUnavailable, match=r"not sent to a page. Read it in Python: session\.files\.read"):
        for_page(file, patterns)
    assert file.data
    assert for_page(files.read("fine.txt"), patterns).data == b"x"
    assert for_page(file._replace(path="package.json"), patterns).data == file.data


def test_too_large_file_is_not_sent_to_pages(files: SessionFiles, work: Path) -> None:
    """Not even a part: the page could never have the whole file."""
    with (work / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(FileUnavailable, match=r"'large' has 67,108,865 bytes; files of up to 67,108,864"):
        for_page(files.read("large", max_bytes=1))
