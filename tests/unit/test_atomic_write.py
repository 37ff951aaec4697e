"""Files are written completely or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agentnb.safe_files import write_atomically


def test_a_new_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    """The files may contain parts of conversations."""
    path = tmp_path / "a.json"
    write_atomically(path, b"{}", sync=True)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"{}", 0o600)


def test_a_file_gets_the_mode_that_is_asked_for_whatever_the_umask(tmp_path: Path) -> None:
    """A policy file shared by a group stays shared."""
    path = tmp_path / "policy.toml"
    write_atomically(path, b"", mode=0o664)
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_a_link_is_replaced_and_what_it_leads_to_is_left_alone(tmp_path: Path) -> None:
    """A planted link must not let anybody overwrite another file."""
    other = tmp_path / "other"
    other.write_bytes(b"other")
    (tmp_path / "a").symlink_to(other)
    write_atomically(tmp_path / "a", b"new")
    assert ((tmp_path / "a").read_bytes(), other.read_bytes()) == (b"new", b"other")


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    """No temporary file remains."""
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
