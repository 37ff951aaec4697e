"""The inside of files: written whole or not at all, and opened only where they were checked, at an exact moment."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agentnb.errors import FileUnavailable, OutsideWorkspace
from agentnb.host.files.workspace_files import for_page, snippet
from agentnb.policy.workspace import WorkspaceBoundary
from agentnb.safe_files import open_path, write_atomically


def test_new_file_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    """The files may contain parts of conversations."""
    path = tmp_path / "a.json"
    write_atomically(path, b"{}", sync=True)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"{}", 0o600)


def test_file_gets_the_requested_mode_despite_the_umask(tmp_path: Path) -> None:
    """A policy file shared by a group stays shared."""
    path = tmp_path / "policy.toml"
    write_atomically(path, b"", mode=0o664)
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_write_replaces_a_link_and_not_its_target(tmp_path: Path) -> None:
    """A planted link must not let anybody overwrite another file."""
    other = tmp_path / "other"
    other.write_bytes(b"other")
    (tmp_path / "a").symlink_to(other)
    write_atomically(tmp_path / "a", b"new")
    assert ((tmp_path / "a").read_bytes(), other.read_bytes()) == (b"new", b"other")


def test_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("path", ["a.txt", "sub/a.txt"])
def test_open_fails_when_a_path_became_a_link_after_the_check(tmp_path: Path, path: str) -> None:
    """An attacker swaps the file or a parent folder for a link after the check."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
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


def test_too_large_file_is_not_sent_to_pages(tmp_path: Path) -> None:
    """Not even a part: the page could never have the whole file."""
    with (tmp_path / "large").open("wb") as file:
        file.truncate(64 * 1024**2 + 1)
    with pytest.raises(FileUnavailable, match=r"'large' has 67,108,865 bytes; files of up to 67,108,864"):
        for_page(snippet(WorkspaceBoundary(tmp_path), "large", length=1))
