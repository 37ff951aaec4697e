"""Files are written completely or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentnb.safe_files import write_atomically


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
