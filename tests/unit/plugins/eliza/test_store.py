"""Where sessions are kept: ids that are given once, records that come back."""

from __future__ import annotations

from pathlib import Path

from agentnb.plugins.acp_agent.session import SessionFolder


def test_shared_folder(tmp_path: Path) -> None:
    """Two processes that share a folder never get the same id."""
    first, second = SessionFolder(tmp_path), SessionFolder(tmp_path)
    assert [first.new_id(), second.new_id(), first.new_id(), second.new_id()] == [
        "sess-1",
        "sess-2",
        "sess-3",
        "sess-4",
    ]


def test_id_with_a_path(tmp_path: Path) -> None:
    """An id cannot lead out of the folder."""
    (tmp_path / "secret.json").write_text("{}")
    assert SessionFolder(tmp_path / "sessions").load("../secret") is None


def test_empty_file(tmp_path: Path) -> None:
    """A file that is taken but not written is no session."""
    store = SessionFolder(tmp_path)
    assert store.load(store.new_id()) is None
    assert store.records() == []
